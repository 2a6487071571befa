// Light, dark, or the setting of the system.

const CHOICES = [
  ["system", "◐", "as the system has them"],
  ["light", "☀\uFE0E", "light"],
  ["dark", "☾\uFE0E", "dark"],
];

/** Let `button` go through the choices; the choice is remembered. */
export function themeButton(button) {
  const root = document.documentElement;
  const show = () => {
    const [, sign, words] = CHOICES.find(([name]) => name === root.dataset.theme) ?? CHOICES[0];
    button.textContent = sign;
    button.setAttribute("aria-label", `Colours: ${words}`);
    button.title = `Colours: ${words}`;
  };
  button.addEventListener("click", () => {
    const at = CHOICES.findIndex(([name]) => name === root.dataset.theme);
    root.dataset.theme = CHOICES[(at + 1) % CHOICES.length][0];
    try {
      localStorage.setItem("tile-pdb theme", root.dataset.theme);
    } catch {
      // Storage is disabled: the choice lasts until the page is closed.
    }
    show();
  });
  show();
}
