import { seededRandom } from "#kernel/kit/testing/index.ts";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { writeKubeconfig } from "#kernel/apiserver/index.ts";
import {
  type ApiClient,
  createHttpClient,
  createPodStreams,
  loadKubeconfig,
  type PodStreams,
} from "#kernel/kit/index.ts";
import { Namespace, Pod, ServiceAccount } from "#kernel/model/index.ts";
import { Worker } from "../../src/dialects/wharf/kinds.ts";
import { KubernetesBackend } from "../../src/dialects/wharf/provisioner/kubernetes/kubernetes-backend.ts";
import { podSettings } from "../../src/dialects/wharf/provisioner/kubernetes/pod-settings.ts";
import { connectTo, forwardBy } from "../../src/dialects/wharf/provisioner/pod-address.ts";
import { freePort } from "../support/free-port.ts";
import { bareRepository, gitOverHttp, type GitServer } from "../support/git-servers.ts";
import { HostedBuilds, scriptStep } from "../support/hosted-builds.ts";
import { blocksOf } from "../support/markdown.ts";
import { cleanEnvironment, exec, removeDirectory, slipwayBin, temporaryDirectory } from "../support/slipway.ts";
import { backendContract, cloneToken, tokenOf } from "./worker-backends.contract.ts";

// Workers as Pods of a server that runs Pods as processes of this machine: their images are not used, and they share its ports. What they run is the
// built product, found on the PATH.

const patience = { timeout: 80_000 };
let root: string;
let git: GitServer;
let hosted: HostedBuilds;
let port: number;
let client: ApiClient;
let streams: PodStreams;
let count = 0;

const connectionOf = (kubeconfig: string) =>
  loadKubeconfig({ files: [kubeconfig], environment: {}, clock: systemClock, log: silentLog });

beforeAll(async () => {
  root = await temporaryDirectory();
  git = await gitOverHttp(root, { token: cloneToken });
  await mkdir(join(root, "bin"));
  await writeFile(join(root, "bin/slipway"), `#!/bin/sh\nexec ${process.execPath} ${slipwayBin} "$@"\n`);
  await chmod(join(root, "bin/slipway"), 0o755);
  port = await freePort();
  hosted = await HostedBuilds.open(root, {
    token: "open-sesame",
    args: ["--wharf-backend", "kubernetes"],
    env: {
      PATH: `${root}/bin:${process.env["PATH"] ?? ""}`,
      WHARF_PROVISIONER_K8S_WORKER_PORT: `${port}`,
    },
  });
  const connection = await connectionOf(hosted.server.kubeconfig);
  const config = { connection, clock: systemClock, log: silentLog, random: seededRandom(1) };
  client = createHttpClient(config);
  streams = createPodStreams(config);
  // What workers are allowed to be, as the guide says it.
  for (const { language, text } of blocksOf("docs/guides/wharf-server.md"))
    if (language === "yaml" && text.includes("kind: Role")) await kubectl(["apply", "-f", "-"], text);
});
afterAll(async () => {
  streams?.close();
  await client?.close();
  await hosted?.close();
  await git?.close();
  await removeDirectory(root);
});

async function kubectl(words: readonly string[], input = ""): Promise<string> {
  const done = await exec("kubectl", ["--kubeconfig", hosted.server.kubeconfig, ...words], { input });
  expect(done.code, done.err).toBe(0);
  return done.out.trim();
}

const podsIn = async (namespace: string) => (await client.list(Pod, { namespace })).items;

function repository(files?: Readonly<Record<string, string>>): string {
  const name = `r${++count}.git`;
  if (files !== undefined) bareRepository(root, name, files);
  return `http://127.0.0.1:${git.port}/${name}`;
}

test("a build of a server whose workers are Pods, and its steps too: all of its lines, and no Pod is left", async () => {
  const definition = { build: { one: scriptStep("for i in $(seq 1 300); do echo line $i; done") } };
  await hosted.addProjectAt(repository({ ".wharf-ci.yml": JSON.stringify(definition) }), cloneToken);
  const number = await hosted.build();
  await expect.poll(async () => (await hosted.facts(number)).status, patience).toMatch(/Completed|Failed/);
  expect(await hosted.facts(number), JSON.stringify(await hosted.log(number))).toMatchObject({ status: "Completed" });
  const log = await hosted.log(number, 1);
  // What the cluster tells of the step's Pod is between them.
  const said = log.map(({ message }) => message).filter((message) => !message.startsWith("[slipway] "));
  expect(said).toEqual(Array.from({ length: 300 }, (_, at) => `line ${at + 1}`));
  await expect.poll(() => hosted.workers(), patience).toEqual([]);
  expect(await podsIn("default")).toEqual([]);
  expect(await kubectl(["get", "secrets", "-o", "name", "-l", "app=wharf-cmd-worker"])).toBe("");
});

test("a worker whose Pod cannot clone fails its build, with what Git and the cluster have said as its log", async () => {
  await hosted.ask("PUT", "/project/1", { name: "web", groupName: "tools", gitUrl: repository(), tokenId: 1 });
  const number = await hosted.build();
  await expect.poll(() => hosted.facts(number), patience).toMatchObject({ status: "Failed" });
  const log = await hosted.log(number);
  expect(new Set(log.map(({ workerStepId }) => workerStepId))).toEqual(new Set([0]));
  const text = log.map(({ message }) => message).join("\n");
  expect(text).toMatch(/init has ended with exit code 1[^]*output of init:[^]*not found[^]*cannot be cloned/);
  expect(text).not.toContain(cloneToken);
  await expect.poll(() => hosted.workers(), patience).toEqual([]);
});

test("the rights that the guide gives are those that workers and services need, and no others", async () => {
  const can = async (who: string, verb: string, what: string) => {
    const as = ["--as", `system:serviceaccount:default:${who}`, "-n", "default"];
    const [resource = "", subresource = ""] = what.split("/");
    const words = ["auth", "can-i", verb, resource, "--subresource", subresource, ...as];
    const { out } = await exec("kubectl", ["--kubeconfig", hosted.server.kubeconfig, ...words]);
    return out.trim();
  };
  const asked = [
    ["wharf-cmd", "create", "pods"],
    ["wharf-cmd", "create", "pods/exec"],
    ["wharf-cmd", "get", "pods/log"],
    ["wharf-cmd", "get", "secrets"],
    ["wharf-services", "create", "pods/portforward"],
    ["wharf-services", "delete", "secrets"],
    ["wharf-services", "update", "workers.wharf.slipway.dev/status"],
    ["wharf-services", "create", "pods/exec"],
  ] as const;
  const answers = await Promise.all(asked.map(([who, verb, what]) => can(who, verb, what)));
  expect(answers).toEqual(["yes", "yes", "yes", "no", "yes", "yes", "yes", "no"]);
  // The services begin with them.
  const file = join(root, "services.kubeconfig");
  const { server, certificateAuthority: caPem = "" } = await connectionOf(hosted.server.kubeconfig);
  await writeKubeconfig(file, { url: server, caPem, token: await kubectl(["create", "token", "wharf-services"]) });
  await writeFile(join(root, "services.token"), "open-sesame", { mode: 0o600 });
  const nobody = "http://127.0.0.1:1";
  const said = await Promise.all([
    saidAtBegin(["aggregator", "serve", "--api", nobody, "--provisioner", nobody], file),
    saidAtBegin(["provisioner", "serve", "--backend", "kubernetes", "--address", "127.0.0.1:0"], file),
  ]);
  for (const words of said) expect(words).toContain("controllers started");
});

/** What a service has said when it is at work, or has given up; it is killed then. */
async function saidAtBegin(words: readonly string[], kubeconfig: string): Promise<string> {
  const more = ["--kubeconfig", kubeconfig, "--auth-token-file", join(root, "services.token"), "--data-dir", root];
  const program = spawn(process.execPath, [slipwayBin, "wharf", ...words, ...more], {
    env: cleanEnvironment({ HOME: root }),
  });
  let said = "";
  for (const stream of [program.stdout, program.stderr])
    stream.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const ended = once(program, "exit");
  await expect.poll(() => said, patience).toMatch(/controllers started|slipway: /);
  program.kill("SIGKILL");
  await ended;
  return said;
}

// Beside the server's own provisioner, in a namespace that it does not look at.
const namespace = "backend";

async function ready(): Promise<void> {
  if ((await client.list(Namespace)).items.some(({ metadata }) => metadata.name === namespace)) return;
  await client.create(Namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "wharf-cmd", namespace } };
  await client.create(ServiceAccount, account);
}

backendContract(() => ({
  keepsResults: false,
  async open() {
    await ready();
    const settings = { "provisioner.k8s.worker.port": port, "provisioner.k8s.worker.extraArgs": ["--runtime", "host"] };
    return new KubernetesBackend({
      client,
      pods: { get: () => undefined },
      namespace,
      settings: podSettings(settings, "1"),
      forward: forwardBy(() => streams),
      tokenOf,
      clock: systemClock,
      log: silentLog,
    });
  },
  async identify(number) {
    const worker = await client.create<Worker>(Worker, {
      apiVersion: "wharf.slipway.dev/v1alpha1",
      kind: "Worker",
      metadata: { name: `wharf-cmd-worker-local-${number}`, namespace },
      spec: { buildRef: 0 },
    });
    return { namespace, name: worker.metadata.name, uid: worker.metadata.uid };
  },
  connect: (address) =>
    connectTo(
      address,
      forwardBy(() => streams),
    ),
  repository,
  kill: () => Promise.reject(new Error("results of a Pod go with it")),
  visible: async ({ name }) =>
    (await kubectl(["get", "pod", name, "-n", namespace, "-o", "yaml"])) +
    (await kubectl(["logs", name, "-n", namespace, "--all-containers"])) +
    (await exec("ps", ["-eo", "args"])).out,
  count: async () => (await podsIn(namespace)).length,
}));
