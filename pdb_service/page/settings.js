// Settings that survive a reload: the values of these controls.

import { byId } from "./elements.js";

const KEY = "tile-pdb settings";
const CONTROLS = ["level", "best", "colours", "letters", "letter-keys", "seconds", "speed"].map(byId);
const valueOf = (control) => (control.type === "checkbox" ? "checked" : "value");

/** Restore the settings, before the panels read them, and keep each change. */
export function keepSettings() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    for (const control of CONTROLS) {
      if (control.id in kept) control[valueOf(control)] = kept[control.id];
      if (control.value === "") control.selectedIndex = 1; // an option that this server does not have
      control.addEventListener("change", () => {
        kept[control.id] = control[valueOf(control)];
        localStorage.setItem(KEY, JSON.stringify(kept));
      });
    }
  } catch {
    // Storage is disabled: settings last until the page is closed.
  }
}
