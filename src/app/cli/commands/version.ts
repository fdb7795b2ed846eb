import { command, exitCode } from "#kernel/command/index.ts";
import { version } from "../version.ts";

/** Loads nothing else, so it shows how long the program takes to start. `-o json` adds what a bug report needs. */
export const versionCommand = command<{ readonly output?: "json" }>({
  name: "version",
  args: [],
  summary: "Print the version",
  group: "Other",
  examples: ["slipway version", "slipway version -o json"],
  options: [{ flags: "-o, --output <format>", summary: "json", choices: ["json"] }],
  action({ options, environment }) {
    const details = { version, node: process.versions.node, platform: `${process.platform}-${process.arch}` };
    environment.out.write(options.output === "json" ? `${JSON.stringify(details, null, 2)}\n` : `slipway ${version}\n`);
    return Promise.resolve(exitCode.succeeded);
  },
});
