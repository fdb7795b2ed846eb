import { isJsonObject, silentLog, SlipwayError } from "#lib/base/index.ts";
import { command, exitCode } from "#kernel/command/index.ts";

interface UiOptions {
  readonly output?: "json";
}

const codesPath = "/slipway/codes";
const sessionPath = "/slipway/session";

/**
 * Requests a code with which a client that cannot keep a token, such as a browser, logs in as this user. Prints only
 * the code on stdout.
 */
export const uiCommand = command<UiOptions>({
  name: "ui",
  args: [],
  summary: "Print a one-time code that a client exchanges for a session cookie",
  group: "Control plane",
  examples: ["slipway ui", "slipway ui -o json"],
  options: [
    { flags: "-o, --output <format>", summary: "json: the code, its server and its expiry", choices: ["json"] },
  ],
  async action({ options, environment, clock, signal }) {
    const { findConnection } = await import("../connect.ts");
    const { ApiChannel } = await import("#kernel/kit/index.ts");
    const connection = await findConnection(options, environment, clock);
    const channel = new ApiChannel({ connection, clock, log: silentLog, random: () => 0 });
    try {
      const answer = await channel.json({ method: "POST", path: codesPath, signal });
      const { code, until } = isJsonObject(answer) ? answer : {};
      if (typeof code !== "string" || typeof until !== "string") {
        throw new SlipwayError("no-code", `${connection.server} returned no code`, {
          hint: "only a control plane of slipway up has sessions",
        });
      }
      const url = new URL(sessionPath, connection.server).href;
      if (options.output === "json") environment.out.write(`${JSON.stringify({ code, url, until })}\n`);
      else {
        environment.out.write(`${code}\n`);
        environment.err.write(
          `slipway: valid once until ${until}: POST {"code": "…"} to ${url} with the header X-Slipway-Request\n`,
        );
      }
      return exitCode.succeeded;
    } finally {
      channel.close();
    }
  },
});
