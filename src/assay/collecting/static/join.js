// Browsers follow a personal link automatically; link previews in messages run no script, so they do not.

document.querySelector("form").requestSubmit();
