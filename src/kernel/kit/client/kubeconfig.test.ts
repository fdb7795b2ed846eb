import { chmod, mkdtemp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeClock, silentLog } from "#lib/base/index.ts";
import { isLocal } from "./client-config.ts";
import { inClusterConnection } from "./in-cluster.ts";
import { loadKubeconfig, type LoadKubeconfigOptions } from "./load-kubeconfig.ts";

let folder: string;
let clock: FakeClock;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kubeconfig-"));
  clock = new FakeClock();
});
afterEach(() => rm(folder, { recursive: true }));

async function file(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const load = (files: readonly string[], more: Partial<LoadKubeconfigOptions> = {}) =>
  loadKubeconfig({ files, environment: { PATH: process.env["PATH"] }, clock, log: silentLog, ...more });

/** A kubeconfig with one context whose cluster and user have these members. */
const config = (cluster: string, user: string): string => `
apiVersion: v1
kind: Config
current-context: here
clusters: [{ name: c, cluster: { server: "https://10.0.0.1:6443", ${cluster} } }]
users: [{ name: u, user: { ${user} } }]
contexts: [{ name: here, context: { cluster: c, user: u, namespace: work } }]
`;

describe("reading", () => {
  test("a context is resolved to everything a connection needs", async () => {
    const data = `certificate-authority-data: ${base64("CA")}, tls-server-name: api.example`;
    const user = `client-certificate-data: ${base64("CERT")}, client-key-data: ${base64("KEY")}`;
    const connection = await load([await file("config", config(data, user))]);
    expect(connection).toMatchObject({
      server: "https://10.0.0.1:6443",
      certificateAuthority: "CA",
      tlsServerName: "api.example",
      namespace: "work",
    });
    expect(connection.skipTlsVerify).toBeUndefined();
    expect(await connection.credentials.get()).toEqual({ certificate: "CERT", key: "KEY" });
    expect(connection.credentials.refused()).toBe(false);
  });

  test("files are found relative to the kubeconfig that names them", async () => {
    await mkdir(join(folder, "pki"));
    for (const name of ["ca.crt", "me.crt", "me.key"]) await file(`pki/${name}`, name);
    const path = await file(
      "config",
      config("certificate-authority: pki/ca.crt", "client-certificate: pki/me.crt, client-key: ./pki/me.key"),
    );
    const connection = await load([path]);
    expect(connection.certificateAuthority).toBe("ca.crt");
    expect(await connection.credentials.get()).toEqual({ certificate: "me.crt", key: "me.key" });
  });

  test("tokens, names with passwords and impersonation are understood", async () => {
    const token = await load([
      await file(
        "a",
        config("insecure-skip-tls-verify: true", "token: secret, as: jane, as-uid: '7', as-groups: [x, z]"),
      ),
    ]);
    expect(token).toMatchObject({ skipTlsVerify: true, impersonate: { user: "jane", uid: "7", groups: ["x", "z"] } });
    expect(await token.credentials.get()).toEqual({ token: "secret" });
    const basic = await load([await file("b", config("", "username: u, password: p"))]);
    expect(await basic.credentials.get()).toEqual({ basic: { username: "u", password: "p" } });
  });

  test("of several files the first that names something counts, and missing ones are passed over", async () => {
    const first = await file(
      "first",
      `clusters: [{ name: c, cluster: { server: "https://first" } }]\nusers: [{ name: other, user: { token: first } }]`,
    );
    const second = await file("second", config("", "token: second"));
    const connection = await load([join(folder, "missing"), first, second]);
    expect(connection.server).toBe("https://first");
    expect(await connection.credentials.get()).toEqual({ token: "second" });
  });

  test("another context than the current one may be named", async () => {
    const more = config("", "token: t").replace("contexts: [", "contexts: [{ name: there, context: { cluster: c } }, ");
    const connection = await load([await file("config", more)], { context: "there" });
    expect(connection.namespace).toBeUndefined();
    expect(await connection.credentials.get()).toEqual({});
  });

  test("JSON is a kubeconfig, too", async () => {
    const content = {
      "current-context": "x",
      clusters: [{ name: "c", cluster: { server: "http://127.0.0.1:1" } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "" } }],
    };
    const connection = await load([await file("config", JSON.stringify(content))]);
    expect(connection.server).toBe("http://127.0.0.1:1");
    expect(isLocal(connection)).toBe(true);
    expect(isLocal({ ...connection, server: "https://example.org" })).toBe(false);
  });
});

describe("what is wrong is named", () => {
  test.each([
    [
      "no context of that name",
      config("", "").replace("current-context: here", "current-context: gone"),
      /no context "gone"/,
    ],
    ["no current context", config("", "").replace("current-context: here", ""), /no current context/],
    ["no user of that name", config("", "").replace("user: u,", "user: nobody,"), /no user "nobody"/],
    ["no server", config("", "").replace('server: "https://10.0.0.1:6443", ', ""), /"c" has no server/],
    [
      "a server that is no address",
      config("", "").replace("https://10.0.0.1:6443", "ftp://x"),
      /no http or https address/,
    ],
    [
      "a certificate without its key",
      config("", `client-certificate-data: ${base64("x")}`),
      /both a client certificate and its key/,
    ],
    [
      "a file that is not there",
      config("certificate-authority: gone.crt", ""),
      /certificate-authority of "c" cannot be read/,
    ],
    ["a number for a text", config("", "token: 5"), /expected a text for token/],
    ["groups that YAML reads as no texts", config("", "as: jane, as-groups: [yes]"), /list of texts for as-groups/],
    ["no mapping", "- a\n", /expected a mapping/],
    ["another kind of document", "kind: Pod\n", /its kind is "Pod"/],
    ["broken YAML", "a: [\n", /config:/],
    ["a part without a name", "clusters: [{ cluster: {} }]", /clusters\[0\] needs a name/],
    ["a list that is none", "clusters: 5", /expected a list of clusters/],
  ])("%s", async (_what, content, message) => {
    const loading = load([await file("config", content)]);
    await expect(loading).rejects.toThrow(message);
    await expect(loading).rejects.toMatchObject({ code: "kubeconfig-invalid" });
  });

  test.each([
    ["a proxy", config("proxy-url: 'http://proxy'", ""), /proxy-url of the cluster "c" is not supported/],
    ["an auth provider", config("", "auth-provider: { name: gcp }"), /auth-provider of the user "u" is not supported/],
    ["impersonation with extras", config("", "as: x, as-user-extra: { a: [b] }"), /as-user-extra/],
    [
      "an exec plugin of another version",
      config("", "exec: { command: x, apiVersion: client.authentication.k8s.io/v1beta1 }"),
      /must be client.authentication.k8s.io\/v1$/,
    ],
    [
      "an exec plugin that needs a terminal",
      config("", "exec: { command: x, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Always }"),
      /interactiveMode Always/,
    ],
  ])("%s is refused by name", async (_what, content, message) => {
    const loading = load([await file("config", content)]);
    await expect(loading).rejects.toThrow(message);
    await expect(loading).rejects.toMatchObject({ code: "kubeconfig-unsupported" });
  });

  test("no file at all asks for `slipway up`", async () => {
    const loading = load([join(folder, "a"), join(folder, "b")]);
    await expect(loading).rejects.toMatchObject({
      code: "kubeconfig-missing",
      hint: expect.stringContaining("slipway up"),
    });
  });
});

describe("token files", () => {
  test("are read again after a minute, and at once when the token was refused", async () => {
    const tokens = await file("token", "one\n");
    const { credentials } = await load([await file("config", config("", "tokenFile: token, token: ignored"))]);
    expect(await credentials.get()).toEqual({ token: "one" });
    await writeFile(tokens, "two");
    await clock.advance(59_000);
    expect(await credentials.get()).toEqual({ token: "one" });
    await clock.advance(1000);
    expect(await credentials.get()).toEqual({ token: "two" });
    await writeFile(tokens, "three");
    await clock.advance(1000);
    expect(credentials.refused()).toBe(true);
    expect(await credentials.get()).toEqual({ token: "three" });
    expect(credentials.refused()).toBe(false);
  });

  test("that are missing or empty are named", async () => {
    const { credentials } = await load([await file("config", config("", "tokenFile: token"))]);
    await expect(credentials.get()).rejects.toThrow(/token file .* cannot be read/);
    await file("token", "\n");
    await expect(credentials.get()).rejects.toThrow(/is empty/);
  });
});

describe("credential commands", () => {
  const answer = (statusText: string) =>
    `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":${statusText}}`;

  async function plugin(script: string, more = ""): Promise<Awaited<ReturnType<typeof load>>> {
    const path = await file("plugin.sh", `#!/bin/sh\n${script}\n`);
    await chmod(path, 0o755);
    const exec = `exec: { apiVersion: client.authentication.k8s.io/v1, command: ./plugin.sh, ${more} }`;
    return load([await file("config", config(`certificate-authority-data: ${base64("CA")}`, exec))]);
  }

  test("get arguments, variables and, when asked for, the cluster; their answer is kept until shortly before its end", async () => {
    const more =
      "args: [a, 'b c'], env: [{ name: EXTRA, value: yes-please }], provideClusterInfo: true, interactiveMode: Never";
    const script = `echo "$1|$2|$EXTRA|$KUBERNETES_EXEC_INFO" >> "${folder}/calls"
echo '${answer('{"token":"t","expirationTimestamp":"2026-01-01T00:10:00Z"}')}'`;
    const { credentials } = await plugin(script, more);
    expect(await Promise.all([credentials.get(), credentials.get()])).toEqual([{ token: "t" }, { token: "t" }]);
    await clock.advance(9 * 60_000);
    await credentials.get();
    const calls = (await readFile(join(folder, "calls"), "utf8")).trim().split("\n");
    expect(calls).toHaveLength(1);
    const [first, second, extra, ...info] = (calls[0] ?? "").split("|");
    expect([first, second, extra]).toEqual(["a", "b c", "yes-please"]);
    expect(JSON.parse(info.join("|"))).toEqual({
      apiVersion: "client.authentication.k8s.io/v1",
      kind: "ExecCredential",
      spec: {
        interactive: false,
        cluster: { server: "https://10.0.0.1:6443", "certificate-authority-data": base64("CA") },
      },
    });
    await clock.advance(51_000);
    await credentials.get();
    expect((await readFile(join(folder, "calls"), "utf8")).trim().split("\n")).toHaveLength(2);
  });

  test("may answer with a certificate, and are run again when that was refused", async () => {
    const script = `echo x >> "${folder}/calls"; echo '${answer('{"clientCertificateData":"C","clientKeyData":"K"}')}'`;
    const { credentials } = await plugin(script);
    expect(await credentials.get()).toEqual({ certificate: "C", key: "K" });
    expect(credentials.refused()).toBe(true);
    await credentials.get();
    expect(await readFile(join(folder, "calls"), "utf8")).toBe("x\nx\n");
  });

  test.each([
    ["fails", "echo 'log in first' >&2; exit 3", /ended with 3: log in first/],
    ["prints something else", "echo hello", /printed no ExecCredential/],
    ["prints another version", `echo '${answer("{}").replace("/v1", "/v1beta1")}'`, /printed no ExecCredential/],
    ["prints no credentials", `echo '${answer("{}")}'`, /neither a token nor a certificate/],
    ["prints a bad time", `echo '${answer('{"token":"t","expirationTimestamp":"soon"}')}'`, /is no time: soon/],
    ["prints without end", "yes", /printed more than/],
  ])("one that %s is named with what it said", async (_what, script, message) => {
    const { credentials } = await plugin(script);
    const failing = credentials.get();
    await expect(failing).rejects.toThrow(message);
    await expect(failing).rejects.toMatchObject({ code: "credentials-failed" });
  });

  test("what one leaves behind that prints without end has nobody to print to any more", async () => {
    // Nothing but its own failure ends the inner shell, which the outer one's end does not reach.
    const printing = `(trap '' PIPE; while echo 0123456789; do :; done; echo over > "${folder}/over") & wait`;
    const { credentials } = await plugin(printing);
    await expect(credentials.get()).rejects.toThrow(/printed more than/);
    await expect.poll(() => readFile(join(folder, "over"), "utf8").catch(() => "")).toBe("over\n");
  });

  test("one that is not installed comes with its own hint", async () => {
    const exec =
      "exec: { apiVersion: client.authentication.k8s.io/v1, command: no-such-command-here, installHint: get it from us }";
    const { credentials } = await load([await file("config", config("", exec))]);
    await expect(credentials.get()).rejects.toMatchObject({
      message: expect.stringContaining("ENOENT"),
      hint: "get it from us",
    });
  });

  test("one that does not end is ended", async () => {
    const { credentials } = await plugin(`echo $$ > "${folder}/pid"; exec sleep 600`);
    const failing = credentials.get();
    failing.catch(() => undefined);
    await expect.poll(() => readFile(join(folder, "pid"), "utf8").catch(() => "")).not.toBe("");
    await clock.advance(60_000);
    await expect(failing).rejects.toThrow("did not end within 60 s");
  });
});

describe("in a Pod", () => {
  test("the service account is used", async () => {
    await file("token", "pod-token");
    await file("ca.crt", "CA");
    await file("namespace", "work\n");
    const environment = { KUBERNETES_SERVICE_HOST: "10.1.0.1", KUBERNETES_SERVICE_PORT: "443" };
    const connection = await inClusterConnection(environment, clock, folder);
    expect(connection).toMatchObject({ server: "https://10.1.0.1:443", certificateAuthority: "CA", namespace: "work" });
    expect(await connection?.credentials.get()).toEqual({ token: "pod-token" });
    const six = await inClusterConnection({ ...environment, KUBERNETES_SERVICE_HOST: "fd00::1" }, clock, folder);
    expect(six?.server).toBe("https://[fd00::1]:443");
  });

  test("elsewhere there is none, and a Pod without an account is told what it lacks", async () => {
    expect(await inClusterConnection({}, clock, folder)).toBeUndefined();
    const environment = { KUBERNETES_SERVICE_HOST: "10.1.0.1", KUBERNETES_SERVICE_PORT: "443" };
    const failing = inClusterConnection(environment, clock, folder);
    await expect(failing).rejects.toMatchObject({ code: "service-account-missing", hint: expect.any(String) });
  });
});
