import { render } from "preact";
import { App } from "./app";
import { takeToken } from "./lib/api";
import "./style/base.css";
import "./style/parts.css";
import "./style/views.css";

takeToken();
const place = document.getElementById("page");
if (place) render(<App />, place);
