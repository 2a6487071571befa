// Set the chosen colours before the first paint. (Not a module: modules run after it.)
try {
  document.documentElement.dataset.theme = localStorage.getItem("tile-pdb theme") ?? "system";
} catch {
  document.documentElement.dataset.theme = "system";
}
