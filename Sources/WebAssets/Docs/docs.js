// The pages work without this script. The script adds a copy button to each example.
"use strict";

for (const example of document.querySelectorAll("pre > code")) {
  const button = document.createElement("button");
  button.className = "copy quiet";
  button.type = "button";
  button.textContent = "Copy";
  example.before(button);
  button.addEventListener("click", async () => {
    // Without TLS, browsers provide no clipboard. The example is then selected, so the reader can copy it.
    try {
      await navigator.clipboard.writeText(example.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(example);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}
