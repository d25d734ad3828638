// A personal link goes on by itself in a browser; what only looks at addresses in messages runs no script, and gets no further.

document.querySelector("form").requestSubmit();
