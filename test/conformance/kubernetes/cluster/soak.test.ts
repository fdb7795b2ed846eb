import { seededRandom } from "#kernel/kit/testing/index.ts";
import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { sleep, systemClock } from "#lib/base/index.ts";
import { ConfigMap, type KubeObject } from "#kernel/model/index.ts";
import { removeDirectory, temporaryDirectory } from "#test/support/slipway.ts";
import { eventually, within } from "#test/support/within.ts";
import { type ClientNode, type Item, type KubeConfig, loadClientNode } from "./suite/client-node.ts";
import { startUnreliableServer, type UnreliableServer } from "./suite/unreliable-server.ts";
import { rounds } from "#test/support/rounds.ts";

// A watch delivers each later change exactly once, in order, or ends with 410: through restarts of the server, forgotten history
// and broken connections, to Kubernetes' own client. SOAK_SECONDS=600 is the long form.

const seconds = Number(process.env["SOAK_SECONDS"] ?? rounds(10, 600));
/** No step takes this long on the busiest machine; one that does fails, and tells how things stand. */
const stepMs = 60_000;
const path = "/api/v1/namespaces/default/configmaps";
const labelSelector = "set=soak";

/** One change as the writer knows it. */
interface Change {
  readonly revision: number;
  readonly text: string;
}

interface Named {
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
}

const textOf = (type: string, { metadata, data }: Named) => `${type} ${metadata.name} ${data?.["n"] ?? ""}`;

test(`an informer and a watch see every change once through ${seconds} seconds of faults`, {
  timeout: seconds * 1000 + 8 * stepMs,
}, async () => {
  const directory = await temporaryDirectory();
  const random = seededRandom(Number(process.env["SOAK_SEED"] ?? 1));
  const server = await within(stepMs, "the server starts", startUnreliableServer(directory));
  const k8s = await within(stepMs, "the client is loaded", loadClientNode());
  const config = new k8s.KubeConfig();
  config.loadFromOptions(kubeconfigOf(server));
  const written: Written = { live: new Map(), truth: [] };
  const { live, truth } = written;
  const counts = { restarts: 0, forgotten: 0, cuts: 0, stalls: 0, refusals: 0 };
  const watcher = followByWatch(k8s, config);
  const informer = followByInformer(k8s, config);
  const wanted = () => [...live.values()].map((object) => textOf("", object)).sort();
  const state = () => ({
    changes: truth.length,
    last: truth.at(-1),
    counts,
    server: server.state(),
    watcher: watcher.state(),
    informer: { ...informer.state(), ...differenceOf(wanted(), informer.now()) },
    process: countsOf(process.getActiveResourcesInfo()),
  });
  const step = <T>(what: string, promise: Promise<T>) => within(stepMs, what, promise, state);
  const caughtUp = (what: string, holds: () => boolean) => eventually(stepMs, what, holds, state);
  const deadline = systemClock.monotonic() + seconds * 1000;
  while (systemClock.monotonic() < deadline) {
    for (let writes = 5 + Math.floor(random() * 40); writes > 0; writes -= 1)
      await step("a change", change(server, written, random));
    await step("a fault and its end", disturb(server, random, counts));
  }
  // Once all is calm, everybody catches up.
  await step("the last change", change(server, written, random));
  await caughtUp("the watch has seen the last change", () => watcher.revision() === truth.at(-1)?.revision);
  await caughtUp("the informer has what there is", () => isDeepStrictEqual(informer.now(), wanted()));
  await step("the watch ends", watcher.stop());
  await step("the informer ends", informer.stop());
  await step("the server ends", server.close());
  await removeDirectory(directory);
  const delivered = watcher.told.filter((one) => "text" in one).length;
  process.stderr.write(
    `soak: ${truth.length} changes in ${seconds} s, ${delivered} seen by ${watcher.counts.watches} watches ` +
      `and ${watcher.counts.lists} lists; ${JSON.stringify(counts)}\n`,
  );
  expect(watcher.errors).toEqual([]);
  expect(faultsIn(watcher.told, truth)).toEqual([]);
  expect(informer.faults).toEqual([]);
  expect(delivered).toBeGreaterThan(truth.length / 4);
});

const kubeconfigOf = ({ url, ca, token }: UnreliableServer) => ({
  clusters: [{ name: "c", server: url, caData: Buffer.from(ca).toString("base64") }],
  users: [{ name: "u", token }],
  contexts: [{ name: "x", cluster: "c", user: "u" }],
  currentContext: "x",
});

const differenceOf = (wanted: readonly string[], found: readonly string[]) => ({
  missing: wanted.filter((one) => !found.includes(one)),
  surplus: found.filter((one) => !wanted.includes(one)),
});

/** How often each occurs. */
const countsOf = (names: readonly string[]) =>
  Object.fromEntries([...new Set(names)].map((name) => [name, names.filter((other) => other === name).length]));

/** What there is and how it came about. */
interface Written {
  readonly live: Map<string, Named & KubeObject>;
  readonly truth: Change[];
}

/** Makes, changes or removes one of twenty objects, and notes it. */
async function change(server: UnreliableServer, { live, truth }: Written, random: () => number): Promise<void> {
  const name = `soak-${Math.floor(random() * 20)}`;
  const before = live.get(name);
  if (before !== undefined && random() < 0.2) {
    await server.client().delete({ type: ConfigMap, namespace: "default", name });
    live.delete(name);
    truth.push({ revision: server.revision(), text: textOf("DELETED", before) });
    return;
  }
  const object = { ...(before ?? draft(name)), data: { n: String(truth.length + 1) } };
  const after = await (before === undefined
    ? server.client().create(ConfigMap, object)
    : server.client().update(ConfigMap, object));
  live.set(name, after);
  truth.push({ revision: server.revision(), text: textOf(before === undefined ? "ADDED" : "MODIFIED", after) });
}

const draft = (name: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default", labels: { set: "soak" } },
});

async function disturb(
  server: UnreliableServer,
  random: () => number,
  counts: { restarts: number; forgotten: number; cuts: number; stalls: number; refusals: number },
): Promise<void> {
  const dice = random();
  if (dice < 0.1) {
    await server.restart();
    counts.restarts += 1;
  } else if (dice < 0.3) {
    // Whoever is connected keeps up; who comes back later has missed something that nobody remembers.
    server.cut();
    server.refuse(true);
    await sleep(systemClock, 100 + random() * 200);
    await server.forget();
    server.refuse(false);
    counts.forgotten += 1;
  } else if (dice < 0.5) {
    server.cut();
    counts.cuts += 1;
  } else if (dice < 0.6) {
    server.stall(true);
    await sleep(systemClock, random() * 500);
    server.stall(false);
    counts.stalls += 1;
  } else if (dice < 0.7) {
    server.refuse(true);
    await sleep(systemClock, random() * 300);
    server.refuse(false);
    counts.refusals += 1;
  } else await sleep(systemClock, random() * 300);
}

/** What a follower was told: where it had to begin anew, and every event. */
type Told = { readonly listedAt: number } | { readonly text: string; readonly revision: number };

/** Lists, watches from the list, watches on from the last change it saw, lists again only after 410. */
function followByWatch(k8s: ClientNode, config: KubeConfig) {
  const core = config.makeApiClient(k8s.CoreV1Api);
  const errors: string[] = [];
  const told: Told[] = [];
  const counts = { watches: 0, lists: 0 };
  const abort = new AbortController();
  const at = { revision: "", doing: "", since: 0 };
  const now = (doing: string) => Object.assign(at, { doing, since: systemClock.monotonic() });
  const onEvent = (type: string, object: Item & { readonly code?: number }) => {
    if (type === "ERROR") {
      if (object.code === 410) at.revision = "";
      else errors.push(`the watch said ${JSON.stringify(object)}`);
      return;
    }
    at.revision = object.metadata.resourceVersion ?? "";
    told.push({ text: textOf(type, object), revision: Number(at.revision) });
  };
  const list = async () => {
    now("lists");
    const found = await core["listNamespacedConfigMap"]?.({ namespace: "default", labelSelector });
    at.revision = found?.metadata.resourceVersion ?? "";
    told.push({ listedAt: Number(at.revision) });
    counts.lists += 1;
  };
  const watchOnce = () =>
    new Promise<void>((resolve) => {
      counts.watches += 1;
      now("opens a watch");
      const ended = new AbortController();
      const done = (error: unknown) => {
        if (isExpired(error)) at.revision = "";
        ended.abort();
        resolve();
      };
      const query = { labelSelector, resourceVersion: at.revision };
      new k8s.Watch(config).watch(path, query, onEvent, done).then(
        (request) => {
          now("watches");
          // Asked to stop while the watch was still being opened: nobody else would end it.
          if (abort.signal.aborted) request.abort();
          abort.signal.addEventListener("abort", () => request.abort(), { signal: ended.signal });
        },
        () => resolve(),
      );
    });
  const run = async () => {
    while (!abort.signal.aborted) {
      // A server that is away is asked again.
      if (at.revision === "") await list().catch(() => undefined);
      if (at.revision !== "") await watchOnce();
      now("waits");
      await sleep(systemClock, 20);
    }
  };
  const running = run();
  return {
    errors,
    told,
    counts,
    revision: () => Number(at.revision),
    state: () => ({ ...at, since: `${Math.round(systemClock.monotonic() - at.since)} ms`, ...counts, errors }),
    async stop() {
      abort.abort();
      await running;
    },
  };
}

const isExpired = (error: unknown) =>
  typeof error === "object" && error !== null && "statusCode" in error && error.statusCode === 410;

/** What was missed, came twice or in another order: nothing, if the server keeps its word. */
function faultsIn(told: readonly Told[], truth: readonly Change[]): readonly string[] {
  let next = 0;
  return told.flatMap((one) => {
    if ("listedAt" in one) {
      const after = truth.findIndex(({ revision }) => revision > one.listedAt);
      const begin = after === -1 ? truth.length : after;
      const isBack = begin < next;
      next = begin;
      return isBack ? [`a list at ${one.listedAt} was older than what the watch had shown`] : [];
    }
    const wanted = truth[next];
    next += 1;
    const isRight = wanted?.text === one.text && wanted.revision === one.revision;
    return isRight ? [] : [`expected ${JSON.stringify(wanted)}, found ${JSON.stringify(one)}`];
  });
}

/** The informer as its authors mean it: started again after errors. */
function followByInformer(k8s: ClientNode, config: KubeConfig) {
  const core = config.makeApiClient(k8s.CoreV1Api);
  const faults: string[] = [];
  const last = new Map<string, number>();
  const state = { isStopped: false, connects: 0, errors: 0, lastError: "" };
  const informer = k8s.makeInformer(
    config,
    path,
    () =>
      core["listNamespacedConfigMap"]?.({ namespace: "default", labelSelector }) ??
      Promise.reject(new Error("no list")),
    labelSelector,
  );
  for (const event of ["add", "update", "delete"] as const)
    informer.on(event, ({ metadata, data }) => {
      const n = Number(data?.["n"]);
      const before = last.get(metadata.name) ?? 0;
      // A deletion carries the last state; everything else is news.
      if (event === "delete" ? n < before : n <= before) faults.push(`${event} ${metadata.name} ${n} after ${before}`);
      last.set(metadata.name, n);
    });
  const again = async () => {
    await sleep(systemClock, 50);
    if (!state.isStopped) await informer.start();
  };
  informer.on("error", (error) => {
    state.errors += 1;
    state.lastError = String(error);
    void again().catch(() => undefined);
  });
  informer.on("connect", () => (state.connects += 1));
  void informer.start().catch(() => undefined);
  return {
    faults,
    state: () => ({ ...state, faults }),
    now: () =>
      informer
        .list("default")
        .map((item) => textOf("", item))
        .sort(),
    async stop() {
      state.isStopped = true;
      await informer.stop();
    },
  };
}
