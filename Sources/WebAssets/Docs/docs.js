// The pages work without this. With it every example has a button that copies it.
"use strict";

for (const example of document.querySelectorAll("pre > code")) {
  const button = document.createElement("button");
  button.className = "copy quiet";
  button.type = "button";
  button.textContent = "Copy";
  example.before(button);
  button.addEventListener("click", async () => {
    // Without TLS a browser keeps its clipboard to itself: then the example is chosen, to be copied by hand.
    try {
      await navigator.clipboard.writeText(example.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(example);
      button.textContent = "Chosen";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}
