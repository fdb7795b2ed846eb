import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createStaticToken } from "#kernel/apiserver/index.ts";
import { startTestServer, type TestServer } from "#kernel/apiserver/testing/index.ts";
import { writeYaml } from "#lib/yaml/index.ts";
import { type Kubectl, kubectlsUnderTest, openKubectl } from "#test/support/kubectl.ts";

// People with different rights at one server, each with a kubectl of his own: certificates, static tokens, tokens of accounts.

describe.each(kubectlsUnderTest)("%s", (path) => {
  let api: TestServer;
  let directory: string;
  let admin: Kubectl;
  let minor = 0;
  let files = 0;

  beforeAll(async () => {
    api = await startTestServer();
    directory = await mkdtemp(join(tmpdir(), "slipway-access-"));
    admin = await withCertificate("root", ["system:masters"]);
    minor = Number(admin.minor.split(".")[1]);
  });
  afterAll(async () => {
    await api.close();
    await rm(directory, { recursive: true, force: true });
  });

  async function open(user: object): Promise<Kubectl> {
    files += 1;
    const file = join(directory, `kubeconfig-${files}`);
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "c", cluster: { server: api.url, "certificate-authority-data": base64(api.ca) } }],
      users: [{ name: "u", user: JSON.parse(JSON.stringify(user)) as never }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u", namespace: "default" } }],
      "current-context": "x",
    };
    await writeFile(file, writeYaml(config), { mode: 0o600 });
    return openKubectl(path, file);
  }
  async function withCertificate(user: string, groups: readonly string[]): Promise<Kubectl> {
    const { cert, key } = await api.certify(user, groups);
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    return open({ "client-certificate-data": base64(cert), "client-key-data": base64(key) });
  }
  const withToken = (token: string) => open({ token });
  const canI = async (kubectl: Kubectl, ...words: readonly string[]) => {
    const { out } = await kubectl.run(["auth", "can-i", ...words]);
    return out.trim().split("\n").at(-1);
  };

  test("whoami tells the user and the groups of a certificate", async () => {
    if (minor < 28) return;
    const out = await (await withCertificate("ann", ["devs"])).must(["auth", "whoami"]);
    expect(out).toMatch(/Username +ann\n/);
    expect(out).toMatch(/Groups +\[devs system:authenticated\]/);
  });

  test("each role may what it is for", async () => {
    const operator = await withCertificate("olga", ["slipway:operators"]);
    const viewer = await withToken(await createStaticToken(api.store, "vera", ["slipway:viewers"]));
    const nobody = await withCertificate("ned", []);
    const asked: readonly (readonly [readonly string[], string, string, string])[] = [
      [["create", "pods"], "yes", "no", "no"],
      [["list", "pods"], "yes", "yes", "no"],
      [["get", "secrets"], "yes", "no", "no"],
      [["update", "secrets", "-n", "kube-system"], "no", "no", "no"],
      [["create", "clusterroles"], "no", "no", "no"],
      [["get", "pods", "--subresource=log"], "yes", "yes", "no"],
      [["create", "serviceaccounts", "--subresource=token"], "no", "no", "no"],
      [["get", "/metrics"], "yes", "yes", "no"],
      [["get", "/api"], "yes", "yes", "yes"],
    ];
    for (const [words, ...expected] of asked) {
      const answers = [await canI(operator, ...words), await canI(viewer, ...words), await canI(nobody, ...words)];
      expect([words.join(" "), ...answers]).toEqual([words.join(" "), ...expected]);
      expect(await canI(admin, ...words)).toBe("yes");
    }
  });

  test("--list shows the rules", async () => {
    const ned = await withCertificate("ned", []);
    const rows = await ned.must(["auth", "can-i", "--list"]);
    expect(rows).toMatch(/^selfsubjectaccessreviews\.authorization\.k8s\.io +\[\] +\[\] +\[create\]$/m);
    expect(rows).toMatch(/^ +\[\/api\/\*\] +\[\] +\[get\]$/m);
    expect(await admin.must(["auth", "can-i", "--list"])).toMatch(/^\*\.\* +\[\] +\[\] +\[\*\]$/m);
  });

  test("a viewer cannot read Secrets, and is told why", async () => {
    const viewer = await withCertificate("vera", ["slipway:viewers"]);
    expect(await viewer.must(["get", "ns", "-o", "name"])).toContain("namespace/kube-system");
    const { code, err } = await viewer.run(["get", "secrets"]);
    expect(code).toBe(1);
    expect(err).toContain(
      'Error from server (Forbidden): secrets is forbidden: User "vera" cannot list resource "secrets" in API group "" in the namespace "default"',
    );
  });

  test("an agent reaches its own Lease and none of another", async () => {
    const lease = (name: string) => ({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name, namespace: "slipway-system" },
      spec: { holderIdentity: name },
    });
    for (const name of ["a", "b"]) await admin.must(["apply", "-f", "-"], { input: JSON.stringify(lease(name)) });
    const agent = await withCertificate("slipway:agent:a", ["slipway:agents"]);
    expect(await agent.must(["get", "lease", "a", "-n", "slipway-system", "-o", "name"])).toContain("/a");
    for (const args of [
      ["get", "lease", "b"],
      ["get", "leases"],
      ["delete", "lease", "a"],
      ["get", "pods"],
    ]) {
      const { code, err } = await agent.run([...args, "-n", "slipway-system"]);
      expect([args, code, err]).toEqual([args, 1, expect.stringContaining("Forbidden")]);
    }
    const stolen = await agent.run(["patch", "lease", "b", "-n", "slipway-system", "--type=merge", "-p", "{}"]);
    expect(stolen.err).toContain("Forbidden");
  });

  test("create role, rolebinding, clusterrole and clusterrolebinding give rights at once", async () => {
    const rita = await withCertificate("rita", ["readers"]);
    expect(await canI(rita, "get", "configmaps")).toBe("no");
    await admin.must(["create", "role", "readers", "--verb=get,list", "--resource=configmaps"]);
    await admin.must(["create", "rolebinding", "readers", "--role=readers", "--group=readers"]);
    expect(await canI(rita, "get", "configmaps")).toBe("yes");
    expect(await rita.must(["get", "configmaps", "-o", "name"])).toBe("");
    expect(await canI(rita, "get", "configmaps", "-n", "kube-system")).toBe("no");
    await admin.must(["create", "clusterrole", "ns-readers", "--verb=list", "--resource=namespaces"]);
    await admin.must(["create", "clusterrolebinding", "ns", "--clusterrole=ns-readers", "--user=rita"]);
    expect(await rita.must(["get", "ns"])).toContain("kube-system");
    expect(await admin.must(["get", "rolebindings", "-o", "wide"])).toMatch(
      /^NAME +ROLE +AGE +USERS +GROUPS +SERVICEACCOUNTS\nreaders +Role\/readers +\S+ +readers/,
    );
    expect(await admin.must(["describe", "clusterrole", "ns-readers"])).toMatch(/namespaces +\[\] +\[\] +\[list\]/);
    await admin.must(["delete", "rolebinding", "readers"]);
    expect(await canI(rita, "get", "configmaps")).toBe("no");
  });

  test("nobody gives what he does not have", async () => {
    await admin.must(["create", "rolebinding", "boss", "--clusterrole=admin", "--user=boss"]);
    const boss = await withCertificate("boss", []);
    await boss.must(["create", "role", "pods", "--verb=get", "--resource=pods"]);
    const { code, err } = await boss.run([
      "create",
      "rolebinding",
      "root",
      "--clusterrole=cluster-admin",
      "--user=boss",
    ]);
    expect(code).toBe(1);
    expect(err).toContain("is attempting to grant RBAC permissions not currently held");
  });

  test("acting as others is for administrators", async () => {
    expect(await canI(admin, "get", "pods", "--as=nobody")).toBe("no");
    expect(await canI(admin, "get", "pods", "--as=somebody", "--as-group=slipway:viewers")).toBe("yes");
    const vera = await withCertificate("vera", ["slipway:viewers"]);
    const { err } = await vera.run(["get", "pods", "--as=root"]);
    expect(err).toContain('users "root" is forbidden: User "vera" cannot impersonate resource "users"');
  });

  test("create token gives an account's token, which dies with it", async () => {
    if (minor < 24) return;
    await admin.must(["create", "serviceaccount", "robot"]);
    const token = (await admin.must(["create", "token", "robot", "--duration=1h"])).trim();
    await admin.must(["create", "rolebinding", "robot", "--clusterrole=view", "--serviceaccount=default:robot"]);
    const robot = await withToken(token);
    expect(await robot.must(["get", "pods", "-o", "name"])).toBe("");
    expect(await canI(robot, "create", "pods")).toBe("no");
    if (minor >= 28) expect(await robot.must(["auth", "whoami"])).toContain("system:serviceaccount:default:robot");
    await admin.must(["delete", "serviceaccount", "robot"]);
    expect((await robot.run(["get", "pods"])).err).toMatch(/Unauthorized|must be logged in/);
  });

  test("without credentials there is nothing", async () => {
    const { code, err } = await (await open({})).run(["get", "pods", "--request-timeout=60s"], { input: "\n\n" });
    expect([code, err]).toEqual([1, expect.stringMatching(/Unauthorized|must be logged in|EOF/)]);
  });
});
