// An agent that is killed: `node tink-agent-program.mjs PORT DIRECTORY RUNNER`.
import { systemClock } from "#lib/base/index.ts";
import { openAgent } from "#dialects/tinkerbell/agent/open-agent.ts";

const [port = "", directory = "", runnerPath = ""] = process.argv.slice(2);
const say = (level: string) => (message: string, fields?: object) =>
  void process.stderr.write(`${level} ${message} ${JSON.stringify(fields ?? {})}\n`);
const log = {
  error: say("error"),
  warn: say("warn"),
  info: say("info"),
  debug: () => undefined,
  with: () => log,
};
const stopped = new AbortController();
process.on("SIGTERM", () => stopped.abort(new Error("terminated")));
const alive = setInterval(() => undefined, 1_000_000);
await openAgent(
  {
    id: "agent-a",
    server: `127.0.0.1:${port}`,
    runtime: "host",
    directory,
    pull: "never",
    isPrivileged: false,
    stopGrace: 10_000,
    killsOnExit: false,
    logLevel: "info",
  },
  { runnerPath, notes: [], variable: (name) => process.env[name], home: "/tmp", clock: systemClock, log },
  stopped.signal,
);
clearInterval(alive);
