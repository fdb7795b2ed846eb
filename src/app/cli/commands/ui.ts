import { aborted } from "#lib/base/index.ts";
import { command, exitCode, type Invocation } from "#kernel/command/index.ts";

interface UiOptions {
  readonly output?: "json";
  readonly port?: number;
}

/**
 * Gets a one-time code with which a browser logs in as this user, and opens the web UI with it, or prints the link.
 * Stdout has nothing but the link. A cluster has no web UI: this command serves it until a signal.
 */
export const uiCommand = command<UiOptions>({
  name: "ui",
  args: ["[run...]"],
  shown: ["[run]"],
  summary: "Open the web UI in a browser, or print a link to it",
  group: "Control plane",
  examples: [
    "slipway ui",
    "slipway ui workflow/diamond",
    "slipway ui -o json",
    "slipway ui --kubeconfig east.kubeconfig",
    "slipway ui --kubeconfig east.kubeconfig --port 0",
  ],
  options: [
    {
      flags: "-o, --output <format>",
      summary: "json: the link, its code, where to send it and its expiry",
      choices: ["json"],
    },
    {
      flags: "--port <port>",
      summary: "serve the web UI here, as for a cluster: loopback; 0 for any port",
      integer: true,
    },
  ],
  completes: ["run"],
  async action(invocation) {
    const { options, environment, signal } = invocation;
    const { openBrowser } = await import("../ui-link.ts");
    const { placeOf } = await import("../ui-place.ts");
    const page = await pageOf(invocation);
    const place = await placeOf(invocation, options.port);
    try {
      const link = await place.link(page);
      const isJson = options.output === "json";
      const isOpen = !isJson && environment.out.isTerminal && (await openBrowser(link.link, environment));
      environment.out.write(isJson ? `${JSON.stringify(link)}\n` : `${link.link}\n`);
      if (!isJson)
        environment.err.write(
          isOpen
            ? "slipway: opening the browser; if it shows nothing, open this link\n"
            : `slipway: open this link in a browser; it logs in once, until ${link.until}; continue when the browser warns of the certificate\n`,
        );
      if (place.isOwn) {
        environment.err.write(
          "slipway: press Ctrl-C to end the web UI; the same command in another terminal prints a new link\n",
        );
        await aborted(signal);
        process.exitCode = exitCode.succeeded;
      }
      return exitCode.succeeded;
    } finally {
      await place.close();
    }
  },
});

async function pageOf({ rest, connect }: Invocation<UiOptions>): Promise<string> {
  if (rest.length === 0) return "/";
  const { readRun } = await import("../runs.ts");
  const { pageOfRun } = await import("../ui-link.ts");
  const session = await connect();
  try {
    const { dialect, name } = await readRun(session, rest, { alone: "ui" });
    return pageOfRun(dialect.name, session.namespace, name);
  } finally {
    await session.close();
  }
}
