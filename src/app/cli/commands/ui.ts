import { command, exitCode, type Invocation } from "#kernel/command/index.ts";

interface UiOptions {
  readonly output?: "json";
}

/**
 * Requests a one-time code with which a browser logs in as this user, and opens the web UI with it, or prints the link.
 * Stdout has nothing but the link.
 */
export const uiCommand = command<UiOptions>({
  name: "ui",
  args: ["[run...]"],
  shown: ["[run]"],
  summary: "Open the web UI in a browser, or print a link to it",
  group: "Control plane",
  examples: ["slipway ui", "slipway ui workflow/diamond", "slipway ui -o json"],
  options: [
    {
      flags: "-o, --output <format>",
      summary: "json: the link, its code, where to send it and its expiry",
      choices: ["json"],
    },
  ],
  completes: ["run"],
  async action(invocation) {
    const { options, environment, clock, signal } = invocation;
    const { findConnection } = await import("../connect.ts");
    const { openBrowser, requestLink } = await import("../ui-link.ts");
    const page = await pageOf(invocation);
    const connection = await findConnection(options, environment, clock, signal);
    const link = await requestLink(connection, page, { clock, signal });
    if (options.output === "json") {
      environment.out.write(`${JSON.stringify(link)}\n`);
      return exitCode.succeeded;
    }
    const isOpen = environment.out.isTerminal && (await openBrowser(link.link, environment));
    environment.out.write(`${link.link}\n`);
    environment.err.write(
      isOpen
        ? "slipway: opening the browser; if it shows nothing, open this link\n"
        : `slipway: open this link in a browser; it logs in once, until ${link.until}\n`,
    );
    return exitCode.succeeded;
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
