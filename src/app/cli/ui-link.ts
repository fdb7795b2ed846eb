import { formatTime, isJsonObject, silentLog, SlipwayError, type Clock } from "#lib/base/index.ts";
import { replaceFile } from "#lib/base/index.node.ts";
import { defaultDataDirectory, type Environment } from "#kernel/command/index.ts";
import type { Connection } from "#kernel/kit/index.ts";
import type { UiDoor } from "#app/server/index.ts";

const codesPath = "/slipway/codes";
const sessionPath = "/slipway/session";

/** The web UI of a control plane. */
export interface UiPlace {
  /** This command serves it, until it is closed. */
  readonly isOwn: boolean;
  /** A link to a page that logs this user in. */
  link(page: string): Promise<UiLink>;
  close(): Promise<void>;
}

/** Logs a browser in, once, until `until`. */
export interface UiLink {
  readonly code: string;
  /** Where clients other than the page send the code. */
  readonly url: string;
  readonly until: string;
  /** The page; browsers never send the fragment with the code. */
  readonly link: string;
}

/** Below `/slipway`. */
export const pageOfRun = (dialect: string, namespace: string, name: string): string =>
  `/runs/${[dialect, namespace, name].map(encodeURIComponent).join("/")}`;

export const pageAt = (server: string, page = "/"): string => new URL(`/slipway${page}`, server).href;

/** A link to a page that logs this user in. Rejects with `no-code` for servers without a web UI. */
export async function requestLink(
  connection: Connection,
  page: string,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<UiLink> {
  const { ApiChannel } = await import("#kernel/kit/index.ts");
  const channel = new ApiChannel({ connection, clock, log: silentLog, random: () => 0 });
  try {
    const answer = await channel.json({ method: "POST", path: codesPath, signal });
    const { code, until } = isJsonObject(answer) ? answer : {};
    if (typeof code !== "string" || typeof until !== "string") {
      throw new SlipwayError("no-code", `${connection.server} returned no code`, {
        hint: "only a control plane of slipway up has sessions",
      });
    }
    return linkOf(connection.server, page, code, until);
  } finally {
    channel.close();
  }
}

const linkOf = (server: string, page: string, code: string, until: string): UiLink => ({
  code,
  until,
  url: new URL(sessionPath, server).href,
  link: `${pageAt(server, page)}#code=${code}`,
});

/** The place of a web UI that this command serves. */
export const ownPlace = (
  { url, issueCode }: Pick<UiDoor, "url" | "issueCode">,
  close: UiPlace["close"] = async () => undefined,
): UiPlace => ({
  isOwn: true,
  link: async (page) => {
    const { code, until } = issueCode();
    return linkOf(url, page, code, formatTime(until));
  },
  close,
});

/** Where a web UI that a command serves keeps its certificate. */
export const uiDirectory = (environment: Environment): string => `${defaultDataDirectory(environment)}/ui`;

/**
 * Opens the link in the user's browser; false if there is none. Other users see the arguments of a program, so that it
 * gets a file that only its user can read.
 */
export async function openBrowser(link: string, environment: Environment): Promise<boolean> {
  const program = openerOf(environment);
  if (program === undefined) return false;
  const file = `${defaultDataDirectory(environment)}/open-ui.html`;
  const { makeDirectories } = await import("#lib/base/index.node.ts");
  await makeDirectories(defaultDataDirectory(environment), 0o700);
  await replaceFile(file, redirectTo(link), { mode: 0o600 });
  const { spawn } = await import("node:child_process");
  return await new Promise((resolve) => {
    const child = spawn(program, [file], { stdio: "ignore", detached: true });
    child.once("error", () => resolve(false));
    child.once("exit", (code) => resolve(code === 0));
    child.unref();
  });
}

function openerOf({ variable }: Environment): string | undefined {
  if (process.platform === "darwin") return "open";
  if (process.platform !== "linux") return undefined;
  const hasScreen = variable("DISPLAY") !== undefined || variable("WAYLAND_DISPLAY") !== undefined;
  return hasScreen ? "xdg-open" : undefined;
}

/** The link is our own: its parts are encoded for URLs, and a quote or a bracket cannot be in it. */
const redirectTo = (link: string): string =>
  `<!doctype html>\n<meta charset="utf-8">\n<meta name="referrer" content="no-referrer">\n<title>Slipway</title>\n<meta http-equiv="refresh" content="0; url=${link.replaceAll("&", "&amp;").replaceAll("'", "%27")}">\n`;
