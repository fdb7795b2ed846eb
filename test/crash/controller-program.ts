import { createHttpClient, controllerFor, leaseElection, loadKubeconfig, Manager } from "#kernel/kit/index.ts";
import { messageOf, silentLog, systemClock } from "#lib/base/index.ts";
import { ConfigMap, type KubeObject } from "#kernel/model/index.ts";

// A controller as it runs on a cluster, in a process of its own: node controller-program.mjs KUBECONFIG IDENTITY. Work is a ConfigMap
// labelled `work`; it is begun when it appears and done when somebody lets it: `data.go`. Says on stdout what it does.

type Work = KubeObject & { readonly data?: Readonly<Record<string, string>> };

const [kubeconfig = "", identity = ""] = process.argv.slice(2);
const say = (text: string): void => void process.stdout.write(`${text}\n`);

const environment = { clock: systemClock, log: silentLog, random: Math.random };
const connection = await loadKubeconfig({ files: [kubeconfig], environment: {}, ...environment });
const client = createHttpClient({ ...environment, connection });
const election = leaseElection({ ...environment, client, namespace: "default", name: "controller", identity });
const manager = new Manager({ ...environment, client, election });
const works = manager.informers.acquire<Work>(ConfigMap, { labelSelector: "work" }).informer;
const changed = new Set<() => void>();
works.addHandler({ update: () => changed.forEach((look) => look()) });

controllerFor(manager, "work")
  .for(ConfigMap, { scope: { labelSelector: "work" } })
  .complete({
    async reconcile({ namespace = "", name }, { signal }) {
      const work = works.get(`${namespace}/${name}`);
      if (work === undefined || work.data?.["done"] !== undefined) return;
      const note = (data: Record<string, string>) =>
        manager.client.patch({ type: ConfigMap, namespace, name }, { type: "merge", body: { data } });
      await note({ begun: identity });
      await new Promise<void>((resolve, reject) => {
        const look = () => {
          if (works.get(`${namespace}/${name}`)?.data?.["go"] !== undefined) resolve();
        };
        changed.add(look);
        signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
        look();
      });
      await note({ done: identity });
    },
  });

const stop = new AbortController();
process.once("SIGTERM", () => {
  say("stopping");
  stop.abort();
});
say("started");
manager.run(stop.signal).then(
  async () => {
    await client.close();
    say("stopped");
  },
  (thrown: unknown) => {
    say(`failed: ${messageOf(thrown)}`);
    process.exit(1);
  },
);
