import { chaosClient } from "#kernel/kit/testing/index.ts";
import { randomUUID } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { SlipwayError, silentLog, systemClock } from "#lib/base/index.ts";
import { type ApiClient, createHttpClient, createPodStreams, loadKubeconfig } from "#kernel/kit/index.ts";
import { Pod, Secret } from "#kernel/model/index.ts";
import { KubernetesStepRuntime } from "#dialects/wharf/worker/kubernetes/kubernetes-runtime.ts";
import { stepRuntimeContract } from "#dialects/wharf/worker/step-runtime.contract.ts";
import { repositoryIn } from "#dialects/wharf/worker/testing/project-repository.ts";
import { newJob, shellStep } from "#dialects/wharf/worker/testing/step-job.ts";
import {
  endRunner,
  removeDirectory,
  slipway,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "../support/slipway.ts";
import { messagesOf, readBuildFile, resultsOf, startWharf, type WharfProject, wharfProject } from "../support/wharf.ts";
import { buildInPods, definitionInPods, openWharfCluster, type WharfCluster } from "../support/wharf-pods.ts";

/** Somebody's cluster, else a server of our own whose Pods are processes. */
const given = process.env["KUBECONFIG_UNDER_TEST"];
const namespace = "default";
const image = "alpine:3";

let server: TestServer | undefined;
let kubeconfig: string;
let cluster: WharfCluster;
let config: Parameters<typeof createHttpClient>[0];
let client: ApiClient;
const homes: string[] = [];

beforeAll(async () => {
  if (given === undefined) server = await startServer(await temporaryDirectory(), ["--runtime", "process"]);
  kubeconfig = server?.kubeconfig ?? given ?? "";
  cluster = await openWharfCluster(kubeconfig);
  const connection = await loadKubeconfig({ files: [kubeconfig], environment: {}, clock: systemClock, log: silentLog });
  config = { connection, clock: systemClock, log: silentLog, random: Math.random };
  client = createHttpClient(config);
});
afterAll(async () => {
  await client.close();
  if (server === undefined) return;
  await server.stop();
  await endRunner(server.directory);
  await removeDirectory(server.directory);
});
afterEach(async () => {
  for (const home of homes.splice(0)) await removeDirectory(home);
});

function openRuntime(through: (client: ApiClient) => ApiClient = (own) => own): KubernetesStepRuntime {
  const { server: address } = config.connection;
  return new KubernetesStepRuntime({
    cluster: {
      client: through(createHttpClient(config)),
      streams: createPodStreams(config),
      namespace,
      server: address,
    },
    build: { instance: "test", buildId: 7, projectId: 1 },
    clock: systemClock,
    images: { init: image, artifacts: image },
    ownerReferences: [],
  });
}

describe("steps in Pods", () => {
  stepRuntimeContract(
    () =>
      Promise.resolve({
        runtime: openRuntime(),
        image,
        async putSecret(files) {
          const name = `files-${randomUUID()}`;
          const data = Object.fromEntries(Object.entries(files).map(([key, text]) => [key, btoa(text)]));
          const secret = { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, data };
          await client.create(Secret, secret as never);
          return name;
        },
      }),
    // In a container of its own the first process hears of no signal that it does not ask for.
    { endsBySignal: given === undefined },
  );
});

/** A step of a runtime whose project has one file. */
async function started(runtime: KubernetesStepRuntime, script: string) {
  const home = await mkdtemp(join(tmpdir(), "slipway-pods-"));
  homes.push(home);
  const repository = await repositoryIn(await mkdtemp(join(home, "project-")), home);
  const { job, output, remarks } = await newJob(home, shellStep(script, { image, pullPolicy: "IfNotPresent" }), {
    repository,
  });
  return { ended: runtime.run(job), output, remarks };
}

describe("a step in a Pod", () => {
  test("whose output is cut in the middle, by an error or by an end, has every line once", async () => {
    let cuts = 0;
    async function* cut(stream: AsyncIterable<Uint8Array>, isFollowed: boolean): AsyncGenerator<Uint8Array, void> {
      let left = cuts++ < 5 ? 3000 * cuts : Infinity;
      for await (const chunk of stream) {
        yield chunk.subarray(0, left);
        left -= chunk.length;
        // Only what has no end of its own can end too early without an error.
        if (left <= 0 && cuts % 2 === 0 && isFollowed) return;
        if (left <= 0) throw new SlipwayError("connection-failed", "the connection broke");
      }
    }
    const runtime = openRuntime((own) => ({
      ...chaosClient(own, { clock: systemClock, random: Math.random, faults: {} }),
      logs: (ref, options) => cut(own.logs(ref, options), options?.follow === true),
    }));
    const count = 600;
    const script = `i=0; while [ $i -lt ${count} ]; do echo "line $i"; i=$((i+1)); [ $((i % 200)) = 0 ] && sleep 0.3; done; true`;
    const { ended, output } = await started(runtime, script);
    expect(await ended).toMatchObject({ status: "Success" });
    expect(output()).toBe(Array.from({ length: count }, (_, index) => `line ${index}\n`).join(""));
    expect(cuts).toBeGreaterThan(5);
    await runtime.close();
  });

  test("that somebody else deletes has failed, and its log has what the cluster told of it", async () => {
    const runtime = openRuntime();
    const { ended, output, remarks } = await started(runtime, "echo ready; exec sleep 1000");
    await expect.poll(output).toContain("ready");
    const { items } = await client.list(Pod, { namespace, labelSelector: "wharf.iver.com/instance=test" });
    const names = items.map(({ metadata }) => metadata.name);
    expect(names).toHaveLength(1);
    await client.delete({ type: Pod, namespace, name: names[0] ?? "" }, { gracePeriodSeconds: 1 });
    expect(await ended).toMatchObject({ status: "Failed", reason: "PodDeleted" });
    expect(remarks.join("")).toMatch(/^\[slipway\] \w+: .+\n/);
    await runtime.close();
  });
});

describe("a build in Pods", () => {
  const project = async (definition: string): Promise<WharfProject> => {
    const made = await wharfProject(definition, { "kept.txt": "kept\n" });
    homes.push(made.home);
    return made;
  };
  const untilReady = definitionOf("echo ready; while :; do sleep 0.1; done");
  function definitionOf(script: string): string {
    return `s:\n  a: ${JSON.stringify({ container: { image, cmds: [script] } })}\n`;
  }

  test("runs with the rights of the guide: steps that see nothing of each other, secrets that are not shown, artifacts", async () => {
    const at = await project(definitionInPods(image));
    const options = [...cluster.options, "--build-id", "12"];
    const tried = await slipway(["run", "--dry-run", "server", ...options], { cwd: at.directory, env: at.env });
    expect([tried.code, tried.err]).toEqual([0, ""]);
    const { code, out, err, artifacts } = await buildInPods(at, cluster);
    expect([code, err]).toEqual([0, ""]);
    expect(out).not.toContain("top-secret");
    expect(artifacts).toEqual(["a.txt", "out/deep/b.txt"]);
    for (const id of [1, 2]) {
      const lines = (await messagesOf(resultsOf(at, 12), id)).filter((line) => !line.startsWith("[slipway] "));
      expect(lines).toEqual(["kept.txt", "mine", "***"]);
    }
    expect(await readBuildFile(resultsOf(at, 12))).toMatchObject({ status: "Success", runtime: "kubernetes" });
    expect(await cluster.pods()).toEqual([]);
  });

  test("that fails keeps its Pod where that is wanted, and a shell is opened beside what its step has left", async () => {
    const at = await project(definitionOf('echo mine > mine; echo file > "$WHARF_ARTIFACTS_DIR/a.txt"; exit 3'));
    const place = { cwd: at.directory, env: at.env };
    const built = await slipway(["run", ...cluster.options, "--build-id", "5", "--keep"], place);
    expect(built.code).toBe(1);
    const [pod = ""] = await cluster.pods();
    const shell = (word: string, input: string) =>
      slipway(["wharf", "shell", word, ...cluster.access], { ...place, input });
    const opened = await shell("5/a", 'cat kept.txt mine "$WHARF_ARTIFACTS_DIR/a.txt"; echo told >&2; exit 7\n');
    expect(opened).toMatchObject({ code: 7, out: "kept\nmine\nfile\n" });
    expect(opened.err).toMatch(/^step a \(Failed\) of build 5: .+ of the Pod .+\ntold\n$/);
    expect(opened.err).toContain(pod.replace("pod/", ""));
    await cluster.kubectl.must(["delete", pod, "--grace-period=0", "--force"]);
    expect(await shell("5/1", "")).toMatchObject({
      code: 1,
      err: expect.stringContaining("no Pod of step a"),
    });
  });

  test("that is cancelled leaves no Pod, and those of a worker that was killed the next one deletes", async () => {
    const at = await project(untilReady);
    const cancelled = startWharf(at, [...cluster.options, "--build-id", "1", "--grace", "1s"]);
    await expect.poll(cancelled.out).toContain("ready");
    cancelled.child.kill("SIGINT");
    expect(await cancelled.ended).toEqual({ code: 130, signal: null });
    expect(await cluster.pods()).toEqual([]);

    const killed = startWharf(at, [...cluster.options, "--build-id", "2"]);
    await expect.poll(killed.out).toContain("ready");
    killed.child.kill("SIGKILL");
    await killed.ended;
    expect(await cluster.pods()).toHaveLength(1);
    const next = await project(definitionOf("true"));
    const { code } = await slipway(["run", ...cluster.options, "--build-id", "3"], {
      cwd: next.directory,
      env: { ...at.env },
    });
    expect(code).toBe(0);
    await expect.poll(() => cluster.pods()).toEqual([]);
  });
});
