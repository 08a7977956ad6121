import { render } from "preact";
import { App } from "./app";
import { takeToken } from "./lib/api";
import "./style/base.css";
import "./style/parts.css";
import "./style/views.css";

takeToken();
// The printed address may be opened in a tab that shows the page already, where only the fragment changes.
addEventListener("hashchange", () => {
  if (takeToken()) location.reload();
});
const place = document.getElementById("page");
if (place) render(<App />, place);
