import { join } from "node:path";
import { messageOf, systemClock } from "#lib/base/index.ts";
import { toCrds } from "#lib/schema/index.ts";
import { createApiServer, openStore } from "#kernel/apiserver/index.ts";
import { Manager } from "#kernel/kit/index.ts";
import { kinds } from "#dialects/wharf/kinds.ts";
import { openProvisioner } from "#dialects/wharf/provisioner/open-provisioner.ts";

// A provisioner with a durable store, as one process that is killed: `node wharf-provisioner-program.mjs DIRECTORY ADDRESS WORKER`. It says on
// stdout where it answers. Workers are started by the program WORKER.

const [directory = "", address = "", worker = ""] = process.argv.slice(2);
const say = (level: string) => (message: string, fields?: object) =>
  void process.stderr.write(`${new Date().toISOString()} ${level} ${message} ${JSON.stringify(fields ?? {})}\n`);
const log = { error: say("error"), warn: say("warn"), info: say("info"), debug: () => undefined, with: () => log };
const clock = systemClock;

const store = await openStore(join(directory, "store"), { clock });
const server = await createApiServer({ store, clock, log, version: "0.0.0", definitions: toCrds(kinds) });
const manager = new Manager({ client: server.client(), clock, log, random: Math.random });
const environment = { PATH: process.env["PATH"], HOME: directory, GIT_CONFIG_NOSYSTEM: "1" };
const listening = await openProvisioner(
  manager,
  {
    listen: { address, isUsual: false },
    program: { words: [process.execPath, worker], environment },
    runtime: "host",
    allowLocalRepos: true,
  },
  { directory, version: "0.0.0", audit: () => undefined, notes: [], options: {}, tellPort: () => undefined },
  { token: "t", tokenFile: "", allowsAnonymous: true },
);
manager.run(new AbortController().signal).catch((thrown: unknown) => {
  log.error("controllers have failed", { error: messageOf(thrown) });
  process.exit(1);
});
process.stdout.write(`${listening.address}\n`);
