import { SlipwayError, codeOf, sleep } from "#lib/base/index.ts";
import { command, dataDirectoryOf, exitCode } from "#kernel/command/index.ts";

interface DownOptions {
  readonly dataDir?: string;
  readonly output?: "json";
}

/**
 * Waits until the server has stopped. Exits with 0 also when none was running, and with 1 if it belongs to another
 * user.
 */
export const downCommand = command<DownOptions>({
  name: "down",
  args: [],
  summary: "Stop the control plane; running steps continue",
  group: "Control plane",
  examples: ["slipway down", "slipway down --data-dir ./state"],
  options: [
    { flags: "--data-dir <folder>", summary: "its data directory (default: $SLIPWAY_DATA_DIR or ~/.slipway)" },
    { flags: "-o, --output <format>", summary: "json: the stopped server", choices: ["json"] },
  ],
  async action({ options, environment, clock, signal }) {
    const { out, err } = environment;
    const { hasEnded } = await import("#lib/base/index.node.ts");
    const { serverOf } = await import("#kernel/kit/index.ts");
    const directory = dataDirectoryOf(environment, options.dataDir);
    const server = await serverOf(directory);
    if (server === undefined) {
      if (options.output === "json") out.write(`${JSON.stringify({ directory, stopped: false })}\n`);
      else err.write(`slipway: no control plane is running in ${directory}\n`);
      return exitCode.succeeded;
    }
    const { pid, url } = server;
    try {
      process.kill(pid, "SIGTERM");
    } catch (thrown) {
      if (codeOf(thrown) === "EPERM")
        throw new SlipwayError(
          "not-yours",
          `the control plane of ${directory} (process ${pid}) belongs to another user`,
        );
      // ESRCH: it has just ended.
      if (codeOf(thrown) !== "ESRCH") throw thrown;
    }
    while (!hasEnded(server)) await sleep(clock, 20, signal);
    if (options.output === "json") out.write(`${JSON.stringify({ directory, pid, url, stopped: true })}\n`);
    else out.write(`stopped the control plane of ${directory} (${url ?? "not ready yet"}, process ${pid})\n`);
    return exitCode.succeeded;
  },
});
