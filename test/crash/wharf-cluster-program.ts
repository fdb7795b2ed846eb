import { join } from "node:path";
import { systemClock } from "#lib/base/index.ts";
import { toCrds } from "#lib/schema/index.ts";
import {
  createApiServer,
  ensureAdminToken,
  ensureCertificates,
  openStore,
  readKubeconfigToken,
  writeKubeconfig,
} from "#kernel/apiserver/index.ts";
import { RunAction } from "#kernel/dialect/index.ts";
import { kinds } from "#dialects/wharf/kinds.ts";

// A Kubernetes API without controllers, on a durable store, as a process of its own that is killed and started again:
// `node wharf-cluster-program.mjs DIRECTORY PORT`. It says its URL when it answers; whoever has `DIRECTORY/kubeconfig` may do everything.

const [directory = "", port = "0"] = process.argv.slice(2);
const kubeconfig = join(directory, "kubeconfig");
const say = (level: string) => (message: string, fields?: object) =>
  void process.stderr.write(`${level} ${message} ${JSON.stringify(fields ?? {})}\n`);
const log = { error: say("error"), warn: say("warn"), info: () => undefined, debug: () => undefined, with: () => log };

const store = await openStore(join(directory, "store"), { clock: systemClock, log });
const { ca, cert, key } = await ensureCertificates(join(directory, "pki"), systemClock.now());
const definitions = toCrds([...kinds, RunAction]);
const server = await createApiServer({ store, clock: systemClock, log, version: "0.0.0", definitions });
const token = await ensureAdminToken(store, await readKubeconfigToken(kubeconfig));
const { url } = await server.listen({ port: Number(port), tls: { ca, cert, key } });
await writeKubeconfig(kubeconfig, { url, caPem: ca, token });
process.stdout.write(`${url}\n`);
