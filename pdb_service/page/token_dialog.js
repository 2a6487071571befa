// The dialog for the token of a server with --token-file.

import { byId, setText } from "./elements.js";

/** Promises the token, or null where nobody gives one. */
export function askForToken(wasRefused) {
  const [dialog, input] = ["token-dialog", "token"].map(byId);
  setText(
    byId("token-why"),
    wasRefused
      ? "The server does not know that token."
      : "It was started with a token file. The token stays in this tab, until the tab is closed.",
  );
  input.value = "";
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "ok" ? input.value.trim() || null : null), { once: true });
  });
}
