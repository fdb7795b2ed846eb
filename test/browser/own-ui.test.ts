import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { readKubeconfigToken, writeKubeconfig } from "#kernel/apiserver/index.ts";
import { startTestServer } from "#kernel/apiserver/testing/index.ts";
import { giveRights } from "#test/support/accounts.ts";
import { kubectlPaths, openKubectl } from "#test/support/kubectl.ts";
import {
  cleanEnvironment,
  endRunner,
  exec,
  removeDirectory,
  root,
  slipway,
  slipwayBin,
  startServer,
  temporaryDirectory,
  type TestServer,
} from "#test/support/slipway.ts";
import { eventually } from "#test/support/within.ts";
import { openPage } from "./support.ts";

// Web UIs that a command serves itself: of one run, and in front of a cluster.

let directory: string;
let server: TestServer;
let cluster: Server;
let kubeconfig: string;
let adminToken: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await startServer(join(directory, "data"));
  cluster = await asCluster(server);
  kubeconfig = join(directory, "cluster.kubeconfig");
  adminToken = (await readKubeconfigToken(server.kubeconfig)) ?? "";
  await writeConfig(kubeconfig, { token: adminToken });
});
afterAll(async () => {
  cluster.close();
  await server.stop();
  await endRunner(server.directory);
  await removeDirectory(directory);
});

async function writeConfig(path: string, user: object, port = (cluster.address() as AddressInfo).port): Promise<void> {
  const url = `http://127.0.0.1:${port}`;
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "c",
    clusters: [{ name: "c", cluster: { server: url } }],
    users: [{ name: "u", user }],
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
  };
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
}

const started: ChildProcess[] = [];
afterEach(async () => {
  for (const child of started.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }
});

/** The API of that server and nothing else, as a Kubernetes of somebody else's has it. */
async function asCluster({ url, directory: data }: TestServer): Promise<Server> {
  const ca = await readFile(join(data, "pki/ca.crt"), "utf8");
  const front = createServer((asked, answer) => {
    const { pathname } = new URL(asked.url ?? "/", url);
    if (pathname === "/version") {
      answer.end(JSON.stringify({ major: "1", minor: "33", gitVersion: "v1.33.1" }));
      return;
    }
    if (pathname.startsWith("/slipway")) {
      answer.writeHead(404).end();
      return;
    }
    const headers = { ...asked.headers, host: new URL(url).host };
    const sent = request(new URL(asked.url ?? "/", url), { method: asked.method, headers, ca }, (got) => {
      answer.writeHead(got.statusCode ?? 0, got.headers);
      answer.flushHeaders();
      got.pipe(answer);
    });
    sent.on("error", () => answer.destroy());
    answer.once("close", () => sent.destroy());
    asked.pipe(sent);
  });
  front.listen(0, "127.0.0.1");
  await once(front, "listening");
  return front;
}

interface Started {
  readonly child: ChildProcess;
  readonly link: string;
  /** What it has written to stderr so far. */
  readonly err: () => string;
}

/** Starts a command that serves a web UI, and resolves with its link. */
async function start(...args: readonly string[]): Promise<Started> {
  const child = spawn(process.execPath, [slipwayBin, ...args], {
    cwd: root,
    env: cleanEnvironment({ HOME: directory }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  started.push(child);
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
  child.once("exit", (code) => (err += `(ended: ${code})`));
  const find = () => /https:\/\/127\.0\.0\.1:\d+\/slipway\/\S*#code=[\w-]+/.exec(out + err)?.[0];
  await eventually(
    60_000,
    "a link",
    () => find() !== undefined || child.exitCode !== null,
    () => out + err,
  );
  if (child.exitCode !== null) throw new Error(`no link: ${out}${err}`);
  return { child, link: find() ?? "", err: () => err };
}

/** How it ends after a signal. */
async function interrupted({ child }: Started): Promise<number | null> {
  const ended = once(child, "exit") as Promise<[number | null]>;
  child.kill("SIGINT");
  return (await ended)[0];
}

const workflow = (name: string, steps: object) =>
  JSON.stringify({ apiVersion: "slipway.dev/v1alpha1", kind: "Workflow", metadata: { name }, spec: { steps } });
const saying = (script: string) => ({ container: { image: "busybox", command: ["sh", "-c", script] } });
async function file(name: string, steps: object): Promise<string> {
  const path = join(directory, `${name}.json`);
  await writeFile(path, workflow(name, steps));
  return path;
}

describe("run --ui", () => {
  test("a run has its page from its beginning until Ctrl-C, and the exit code of the command is the run's", async () => {
    const gate = join(directory, "gate");
    const path = await file("gated", {
      wait: saying(`echo waiting; until test -e ${gate}; do sleep 0.1; done; exit 3`),
    });
    const run = await start("run", "--ui", "--ephemeral", path);
    const page = await openPage(run.link);
    await page.getByRole("heading", { level: 1, name: "gated" }).waitFor();
    await page.getByRole("treeitem", { name: /wait/ }).getByText("Running").waitFor();
    expect(run.err()).not.toContain("stays open");
    await writeFile(gate, "");
    await page.getByRole("treeitem", { name: /wait/ }).getByText("Failed").waitFor();
    await eventually(30_000, "what it says at the end", () => run.err().includes("press Ctrl-C to end it"), run.err);
    await page.reload();
    await page.getByRole("treeitem", { name: /wait/ }).getByText("Failed").waitFor();
    expect(await interrupted(run)).toBe(1);
  });

  test("on a control plane that runs, the link is that one's, and the command ends with the run", async () => {
    const path = await file("served", { only: saying("echo done") });
    const { code, out, err } = await slipway(["run", "--ui", path, "--kubeconfig", server.kubeconfig]);
    expect([code, out], err).toEqual([0, "done\n"]);
    const [, link = ""] = /web UI: (\S+)/.exec(err) ?? [];
    expect(link).toContain(`${server.url}/slipway/runs/workflow/default/served#code=`);
    const page = await openPage(link);
    await page.getByRole("heading", { level: 1, name: "served" }).waitFor();
  });

  test("it cannot outlive a command that does not wait", async () => {
    const path = await file("detached", { only: saying("true") });
    const { code, err } = await slipway(["run", "--ui", "--detach", path, "--kubeconfig", kubeconfig]);
    expect([code, err]).toEqual([2, expect.stringContaining("the web UI would end with this command")]);
    expect((await slipway(["get", "wf", "detached", "--kubeconfig", kubeconfig])).code).toBe(1);
  });
});

const rights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: watcher, namespace: default}
rules: [{apiGroups: [slipway.dev], resources: [workflows], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: watcher, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: watcher}
subjects: [{kind: ServiceAccount, name: watcher, namespace: default}]
`;

describe("in front of a cluster", () => {
  test("a person finds a run, reads its log, approves, and sees it end", async () => {
    const path = await file("release", {
      build: saying("echo built for the cluster"),
      ask: {
        dependencies: ["build"],
        approval: { message: "Go on?", inputs: [{ name: "replicas", type: "integer" }] },
      },
    });
    const begun = await slipway(["run", "--detach", path, "--kubeconfig", kubeconfig]);
    expect(begun.code, begun.err).toBe(0);
    const ui = await start("ui", "--kubeconfig", kubeconfig);
    expect(ui.err()).toMatch(/^slipway: serving the web UI of http:\S+ to slipway:admin$/m);
    const page = await openPage(ui.link);
    await page
      .getByRole("row", { name: /release.*waits for approval/ })
      .getByRole("link")
      .click();
    await page.getByRole("treeitem", { name: /build/ }).click();
    await page.getByRole("tab", { name: "Log" }).click();
    await page.getByText("built for the cluster").waitFor();
    await page.getByRole("treeitem", { name: /ask/ }).click();
    await page.getByRole("tab", { name: "Overview" }).click();
    await page
      .getByRole("region", { name: "Step ask" })
      .getByRole("button", { name: /^Approve/ })
      .click();
    await page.getByRole("dialog").getByLabel("replicas").fill("3");
    await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
    await page.getByRole("treeitem", { name: /ask/ }).getByText("Succeeded").waitFor();
    const actions = await slipway(["get", "runactions", "-o", "json", "--kubeconfig", kubeconfig]);
    expect(actions.out).toMatch(/"replicas": ?3/);
    await page.getByRole("link", { name: "Resources" }).click();
    await page.getByRole("link", { name: "ConfigMap" }).click();
    await page.getByText("kube-root-ca.crt").first().waitFor();
    expect(await interrupted(ui)).toBe(0);
  });

  test("an agent that comes, and one that goes, is seen at once", async () => {
    const ui = await start("ui", "--kubeconfig", kubeconfig);
    const page = await openPage(ui.link);
    await page.getByRole("link", { name: "Fleet" }).click();
    await page.getByRole("heading", { level: 1, name: "Fleet" }).waitFor();
    const kubectl = async (words: readonly string[], input?: string): Promise<void> => {
      const given = input === undefined ? {} : { input };
      const { code, err } = await exec("kubectl", ["--kubeconfig", server.kubeconfig, ...words], given);
      expect(code, err).toBe(0);
    };
    const agent = { apiVersion: "slipway.dev/v1alpha1", kind: "Agent", metadata: { name: "rack-7" } };
    await kubectl(["apply", "-f", "-"], JSON.stringify({ ...agent, spec: { agentID: "rack-7" } }));
    await page
      .getByRole("row", { name: /rack-7/ })
      .getByText("away")
      .waitFor();
    await kubectl(["delete", "agents.slipway.dev", "rack-7"]);
    await expect.poll(() => page.getByRole("row", { name: /rack-7/ }).count()).toBe(0);
  });

  test("what its user may not list is named, and runs of the one namespace are shown", async () => {
    const account = join(directory, "watcher.kubeconfig");
    // kubectl sends no token without TLS.
    await giveRights(server.kubeconfig, rights, {});
    await writeConfig(account, { token: adminToken, as: "system:serviceaccount:default:watcher" });
    const path = await file("visible", { only: saying("true") });
    expect((await slipway(["run", path, "--kubeconfig", kubeconfig])).code).toBe(0);
    const ui = await start("ui", "--kubeconfig", account, "-n", "default");
    const page = await openPage(ui.link);
    await page.getByRole("row", { name: /visible/ }).waitFor();
    const gaps = page.getByRole("list", { name: "Not listed" });
    await gaps
      .getByText("Workflow (workflow): you may not list it in all namespaces; shown are those of default")
      .waitFor();
    await gaps.getByText(/^Build \(wharf\): you may not list it$/).waitFor();
  });

  test("a cluster without controllers: what it does not serve is named, and a cancel that nobody answers is withdrawn", async () => {
    const file = join(directory, "bare.kubeconfig");
    const bare = await startTestServer();
    try {
      await writeKubeconfig(file, { url: bare.url, caPem: bare.ca, token: bare.token });
      const kubectl = await openKubectl(kubectlPaths[0], file);
      const definitions = (await slipway(["crds"])).out.split(/^---$/m);
      const wanted = definitions.filter((text) => /^ {2}name: "?(?:workflows|runactions)\.slipway\.dev"?$/m.test(text));
      expect(wanted).toHaveLength(2);
      await kubectl.must(["apply", "--server-side", "-f", "-"], { input: wanted.join("---") });
      await kubectl.must(["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"]);
      await kubectl.must(["apply", "-f", "-"], { input: workflow("lonely", { only: saying("true") }) });
      const ui = await start("ui", "--kubeconfig", file, "--port", "0");
      const page = await openPage(ui.link);
      await page
        .getByRole("list", { name: "Not listed" })
        .getByText(/Build \(wharf\).*does not serve them/)
        .waitFor();
      await page
        .getByRole("row", { name: /lonely/ })
        .getByRole("link")
        .first()
        .click();
      await page.getByRole("button", { name: "Cancel lonely", exact: true }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Cancel", exact: true }).click();
      await page.getByText("Cancel sent; no answer yet").first().waitFor();
      expect(await kubectl.must(["get", "runactions", "-o", "name"])).toContain("ui-cancel-");
      await page.getByRole("button", { name: "Withdraw it" }).click();
      await page.getByText("Cancel withdrawn").first().waitFor();
      expect(await kubectl.must(["get", "runactions", "-o", "name"])).toBe("");
    } finally {
      await bare.close();
    }
  });

  test("nobody is let in without the code, by another name or from another site, and it is good once", async () => {
    const { link } = await start("ui", "--kubeconfig", kubeconfig, "--port", "0", "-o", "json");
    const [base = "", code = ""] = link.split("/slipway/#code=");
    const ask = async (
      method: string,
      path: string,
      headers: Readonly<Record<string, string>> = {},
      body?: string,
    ): Promise<{ readonly status: number; readonly cookie: string; readonly body: string }> => {
      const sent = request(new URL(path, base), { method, headers, rejectUnauthorized: false, agent: false });
      sent.end(body);
      const [got] = (await once(sent, "response")) as [IncomingMessage];
      const cookie = got.headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
      return { status: got.statusCode ?? 0, cookie, body: await text(got) };
    };
    const own = { "X-Slipway-Request": "1", "Content-Type": "application/json" };
    const configMaps = "/slipway/api/api/v1/namespaces/default/configmaps";
    expect((await ask("GET", configMaps, own)).status).toBe(401);
    expect((await ask("GET", "/api/v1/namespaces/default/configmaps")).status).toBe(401);
    const login = await ask("POST", "/slipway/session", own, JSON.stringify({ code }));
    expect(login.status, login.body).toBe(201);
    expect((await ask("POST", "/slipway/session", own, JSON.stringify({ code }))).status).toBe(401);
    const { key } = JSON.parse(login.body) as { readonly key: string };
    const session = { ...own, Cookie: login.cookie, "X-Slipway-Request": key };
    expect((await ask("GET", configMaps, { ...own, Cookie: login.cookie })).status).toBe(401);
    expect((await ask("GET", configMaps, session)).status).toBe(200);
    // A cookie alone is what another site can send.
    expect((await ask("POST", configMaps, { Cookie: login.cookie })).status).toBe(405);
    expect((await ask("GET", configMaps, { ...session, Origin: "https://evil.example" })).status).toBe(403);
    expect((await ask("GET", configMaps, { ...session, "Sec-Fetch-Site": "cross-site" })).status).toBe(403);
    expect((await ask("GET", configMaps, { ...session, Host: "evil.example" })).status).toBe(421);
    const pod = "/api/v1/namespaces/default/pods/x";
    for (const path of [`${pod}/proxy/`, `${pod}/%70roxy/`, `${pod}%2Fproxy`, "/metrics", "/version"])
      expect((await ask("GET", `/slipway/api${path}`, session)).status, path).toBe(404);
    const impersonating = await ask("GET", configMaps, { ...session, "Impersonate-User": "system:admin" });
    expect(impersonating.status).toBe(403);
  });

  test("the same command prints another link while the web UI runs, also after a kill", async () => {
    const killed = await start("ui", "--kubeconfig", kubeconfig);
    killed.child.kill("SIGKILL");
    await once(killed.child, "exit");
    const ui = await start("ui", "--kubeconfig", kubeconfig);
    const { code, out, err } = await slipway(["ui", "--kubeconfig", kubeconfig], { env: { HOME: directory } });
    expect([code, new URL(out).origin], err).toEqual([0, new URL(ui.link).origin]);
    expect(out.trim()).not.toBe(ui.link);
    const page = await openPage(out.trim());
    await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor();
    expect(await page.getByText("Not logged in").count()).toBe(0);
    expect(await interrupted(ui)).toBe(0);
  });

  test("a page says that the cluster is away, and goes on when it is back", async () => {
    const front = await asCluster(server);
    const { port } = front.address() as AddressInfo;
    const file = join(directory, "shaky.kubeconfig");
    await writeConfig(file, { token: adminToken }, port);
    const ui = await start("ui", "--kubeconfig", file);
    const page = await openPage(ui.link);
    await page.getByRole("heading", { level: 1, name: "Runs" }).waitFor();
    const closed = once(front, "close");
    front.close();
    front.closeAllConnections();
    await closed;
    await page.getByText("The cluster does not answer", { exact: true }).waitFor();
    front.listen(port, "127.0.0.1");
    await expect.poll(() => page.getByText("The cluster does not answer").count(), { timeout: 30_000 }).toBe(0);
    front.close();
    front.closeAllConnections();
  });

  test("a cluster that is away, or does not accept the credential, is told at once", async () => {
    const wrong = join(directory, "wrong.kubeconfig");
    await writeConfig(wrong, { token: "wrong" });
    const { code, out, err } = await slipway(["ui", "--kubeconfig", wrong]);
    expect([code, out], err).toEqual([1, ""]);
    expect(err).toMatch(/Unauthorized/i);
  });
});
