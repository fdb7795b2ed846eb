import { render } from "preact";
import "./style/index.css";
import { followApprovals } from "./data/approvals.ts";
import { listenToKeys } from "./data/keys.ts";
import { followLinks, navigate, place } from "./data/router.ts";
import { login, noteSignedOut, takeCode } from "./data/server.ts";
import { showSettings } from "./data/settings.ts";
import { keepTime } from "./data/time.ts";
import { Frame } from "./parts/frame.tsx";
import { keepFocus } from "./parts/keep-focus.ts";

async function start(): Promise<void> {
  showSettings(document.documentElement);
  keepTime();
  followLinks();
  listenToKeys();
  const code = takeCode();
  if (location.pathname.replace(/\/+$/, "") !== `/slipway${place.peek().path}`)
    navigate(place.peek().path, { replace: true });
  // A code that is used up does no harm if the session is still there: the first answer tells.
  if (code !== undefined) await login(code).catch(noteSignedOut);
  const root = document.getElementById("page");
  if (root !== null) {
    render(<Frame />, root);
    keepFocus(root);
  }
  followApprovals();
}

void start();
