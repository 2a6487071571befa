// Before the first paint: the colours that were chosen last time. (Not a module: modules run after it.)
try {
  document.documentElement.dataset.theme = localStorage.getItem("tile-pdb theme") ?? "system";
} catch {
  document.documentElement.dataset.theme = "system";
}
