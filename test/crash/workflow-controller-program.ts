import { loadDialects } from "#dialects/index.ts";
import { sharedOf } from "#kernel/dialect/index.ts";
import { createHttpClient, loadKubeconfig, Manager } from "#kernel/kit/index.ts";
import { messageOf, silentLog, systemClock } from "#lib/base/index.ts";
import { bareControllerParts } from "#test/support/controller-parts.ts";

// The controllers of all dialects in a process of their own, beside a server that has its own: node workflow-controller-program.mjs
// KUBECONFIG. Nobody elects a leader, so that both act. Says on stdout what it does.

const [kubeconfig = ""] = process.argv.slice(2);
const say = (text: string): void => void process.stdout.write(`${text}\n`);

const environment = { clock: systemClock, log: silentLog, random: Math.random };
const connection = await loadKubeconfig({ files: [kubeconfig], environment: {}, ...environment });
const client = createHttpClient({ ...environment, connection });
const manager = new Manager({ ...environment, client });
const dialects = await loadDialects();
sharedOf(dialects).addControllers(manager);
for (const dialect of dialects) await dialect.addControllers(manager, bareControllerParts);

const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
say("started");
manager.run(stop.signal).then(
  () => client.close(),
  (thrown: unknown) => {
    say(`failed: ${messageOf(thrown)}`);
    process.exit(1);
  },
);
