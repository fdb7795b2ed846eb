import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { channels } from "#kernel/websocket/index.ts";
import { type HandshakeRefused, openTestClient } from "#kernel/websocket/testing/index.ts";
import { toCrds } from "#lib/schema/index.ts";
import { Credential, credentialHash, newCredential, newToken } from "../authz/credential.ts";
import { scriptedSessions, startTestServer, type TestServer } from "../testing/index.ts";

async function connected(port: number, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1" });
  await once(socket, "connect", { signal });
  return socket;
}

/** What listens on ports of Pods; a test that forwards one makes it. */
const listening = new Map<number, Server>();
const sessions = scriptedSessions((_pod, port, signal) => {
  const server = listening.get(port);
  if (server === undefined) return Promise.reject(new Error(`connection refused: ${port}`));
  return connected((server.address() as AddressInfo).port, signal);
});
const pods = "/api/v1/namespaces/default/pods";
let api: TestServer;

beforeAll(async () => {
  api = await startTestServer({ podSessions: sessions, definitions: toCrds([Credential]) });
  const containers = (...names: string[]) => names.map((name) => ({ name, image: "x" }));
  const pod = (name: string, spec: object, annotations = {}) =>
    api.ask("POST", pods, { body: { apiVersion: "v1", kind: "Pod", metadata: { name, annotations }, spec } });
  const answers = [
    await pod("one", { containers: containers("main"), initContainers: containers("first") }),
    await pod("two", { containers: containers("a", "b") }),
    await pod("named", { containers: containers("a", "b") }, { "kubectl.kubernetes.io/default-container": "b" }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
  const running = {
    headers: { "Content-Type": "application/merge-patch+json" },
    bytes: '{"status":{"phase":"Running"}}',
  };
  expect((await api.ask("PATCH", `${pods}/one/status`, running)).status).toBe(200);
});
afterAll(() => api.close());

const open = (path: string, more: Parameters<typeof openTestClient>[1] = {}) =>
  openTestClient(`${api.url.replace("https", "wss")}${pods}/${path}`, {
    ca: api.ca,
    headers: { Authorization: `Bearer ${api.token}`, ...more.headers },
    ...(more.protocols === undefined ? {} : { protocols: more.protocols }),
  });

/** Opens and answers the scripted command that came of it. */
async function start(path: string, protocols?: readonly string[]) {
  const before = sessions.commands.length;
  const client = await open(path, protocols === undefined ? {} : { protocols });
  const command = sessions.commands[before];
  if (command === undefined) throw new Error("nothing was run");
  return { client, command };
}

/** The Status of a handshake that was refused. */
async function refusal(path: string, more: Parameters<typeof openTestClient>[1] = {}) {
  const thrown = (await open(path, more).catch((refused: unknown) => refused)) as HandshakeRefused;
  return { code: thrown.status, message: (JSON.parse(thrown.body) as { message: string }).message };
}

const statusOf = (bytes: Buffer): unknown => JSON.parse(bytes.toString());

describe("exec", () => {
  test("runs the command with its streams on their channels, and ends with a Success", async () => {
    const { client, command } = await start("one/exec?command=sh&command=-c&command=x&stdin=1&stdout=true&stderr=1");
    expect(client.protocol).toBe("v5.channel.k8s.io");
    expect(command).toMatchObject({ pod: "one", command: ["sh", "-c", "x"] });
    expect(command.request).toMatchObject({ container: "main", stdin: true, terminal: false });
    client.send(channels.stdin, "typed");
    await expect.poll(() => command.stdin.read()?.toString()).toBe("typed");
    client.sendRaw(Buffer.from([channels.close, channels.stdin]));
    await expect.poll(() => command.stdin.writableEnded).toBe(true);
    command.stdout.write("out");
    command.stderr.write("err");
    command.exit(0);
    expect(await client.closed).toMatchObject({ code: 1000 });
    expect([client.heard(channels.stdout), client.heard(channels.stderr)].map(String)).toEqual(["out", "err"]);
    expect(statusOf(client.heard(channels.error))).toEqual({ metadata: {}, status: "Success" });
    expect(client.order.at(0)).toBe(channels.stdout);
    expect(client.order.at(-1)).toBe(channels.error);
  });

  test("an exit code that is not 0 is told as Kubernetes tells it; v4 has no message that ends stdin", async () => {
    const { client, command } = await start("one/exec?command=x&stdin=1&stdout=1&container=first", [
      "v4.channel.k8s.io",
    ]);
    expect(command.request.container).toBe("first");
    client.sendRaw(Buffer.from([channels.close, channels.stdin]));
    client.send(channels.stdin, "more");
    await expect.poll(() => command.stdin.read()?.toString()).toBe("more");
    command.exit(3);
    await client.closed;
    expect(statusOf(client.heard(channels.error))).toMatchObject({
      status: "Failure",
      reason: "NonZeroExitCode",
      details: { causes: [{ reason: "ExitCode", message: "3" }] },
    });
  });

  test("a command that nobody knows the end of is an InternalError", async () => {
    const { client, command } = await start("one/exec?command=x&stdout=1");
    command.fail("the engine is gone");
    await client.closed;
    expect(statusOf(client.heard(channels.error))).toMatchObject({
      reason: "InternalError",
      message: expect.stringContaining("the engine is gone"),
    });
  });

  test("sizes of the terminal are passed on, and what is none is passed over", async () => {
    const { client, command } = await start("one/exec?command=x&stdin=1&stdout=1&stderr=1&tty=1");
    expect(command.request.terminal).toBe(true);
    for (const text of ['{"Width":80,"Height":24}', "{", '{"Width":-1,"Height":24}', '{"Width":100,"Height":50}'])
      client.send(channels.resize, text);
    await expect.poll(() => command.sizes).toHaveLength(2);
    expect(command.sizes).toEqual([
      { columns: 80, rows: 24 },
      { columns: 100, rows: 50 },
    ]);
    client.close();
  });

  test("a client that goes away ends the command; streams it did not ask for hold nothing up", async () => {
    const { client, command } = await start("one/exec?command=x&stdout=1");
    command.stderr.write(Buffer.alloc(1024 * 1024));
    await expect.poll(() => command.stderr.readableLength).toBe(0);
    expect(command.isKilled()).toBe(false);
    client.vanish();
    await expect.poll(() => command.isKilled()).toBe(true);
  });

  test("a command that does not read holds its client up", async () => {
    const { client, command } = await start("one/exec?command=x&stdin=1&stdout=1");
    const piece = Buffer.alloc(256 * 1024);
    for (let count = 0; count < 64; count++) client.send(channels.stdin, piece);
    await expect.poll(() => command.stdin.writableNeedDrain).toBe(true);
    for (let turn = 0; turn < 500; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(command.stdin.writableLength + command.stdin.readableLength).toBeLessThan(4 * piece.length);
    let read = 0;
    command.stdin.on("data", (bytes: Buffer) => (read += bytes.length));
    await expect.poll(() => read).toBe(64 * piece.length);
    client.close();
  });
});

test("attach carries what the container prints, and lets go of it with its client", async () => {
  const { client, command } = await start("one/attach?stdout=1&stderr=1");
  expect(command).toMatchObject({ command: [], request: { container: "main", stdin: false } });
  command.stdout.write("line");
  await expect.poll(() => client.heard(channels.stdout).toString()).toBe("line");
  client.close();
  await expect.poll(() => command.isKilled()).toBe(true);
});

describe("port-forward", () => {
  const v4 = { protocols: ["v4.channel.k8s.io"] };
  const port = (bytes: number) => Buffer.from([bytes & 255, bytes >> 8]);

  /** A server that answers each piece with it in capitals, and ends after `bye`. */
  async function shouting(number: number): Promise<Server> {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.on("data", (bytes) => {
        const said = bytes.toString();
        socket[said === "bye" ? "end" : "write"](said.toUpperCase());
      });
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    listening.set(number, server);
    return server;
  }

  test("carries each port on its two channels, says which is which first, and what is wrong with one", async () => {
    const server = await shouting(8080);
    const client = await open("one/portforward?ports=8080,9&ports=8080", v4);
    client.send(0, "hello");
    client.send(4, "other");
    await expect.poll(() => client.heard(0)).toEqual(Buffer.concat([port(8080), Buffer.from("HELLO")]));
    await expect.poll(() => client.heard(4)).toEqual(Buffer.concat([port(8080), Buffer.from("OTHER")]));
    await expect
      .poll(() => client.heard(3).subarray(2).toString())
      .toBe("error forwarding port 9: connection refused: 9");
    expect([client.heard(2), client.heard(1)]).toEqual([port(9), port(8080)]);
    client.send(0, "bye");
    client.send(4, "bye");
    expect(await client.closed).toMatchObject({ code: 1000 });
    expect(client.heard(0).subarray(2).toString()).toBe("HELLOBYE");
    server.close();
  });

  test("a client that goes away takes its connections with it", async () => {
    const server = await shouting(8081);
    const client = await open("one/portforward?ports=8081", v4);
    client.send(0, "x");
    await expect.poll(() => client.heard(0)).toHaveLength(3);
    client.vanish();
    server.close();
    await once(server, "close");
  });

  test.each([
    ["no port", "one/portforward", /at least one port/],
    ["what is no port", "one/portforward?ports=0", /port "0" must be a number/],
    ["too many", `one/portforward?ports=${Array.from({ length: 65 }, () => 1).join()}`, /at most 64/],
    ["a Pod that does not run", "two/portforward?ports=1", /unable to forward port because pod is not running/],
  ])("%s is refused", async (_what, path, message) => {
    expect(await refusal(path, v4)).toEqual({ code: 400, message: expect.stringMatching(message) });
  });

  test("the tunnel of kubectl is not spoken here", async () => {
    const headers = {
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
      "Sec-WebSocket-Protocol": "SPDY/3.1+portforward.k8s.io",
    };
    const refused = await api.ask("GET", `${pods}/one/portforward?ports=1`, { headers });
    expect(refused.json).toMatchObject({ code: 400, message: expect.stringContaining("SPDY/3.1+portforward.k8s.io") });
  });
});

test("streams end within a second when what their client has shown is good no more", async () => {
  // Whoever is asked about is looked for in the store.
  const user = await allowedUser("guest", ["pods/exec"], ["get", "create"]);
  const looker = await allowedUser("looker", ["pods/exec"], ["get"]);
  const headers = { Authorization: `Bearer ${looker.token}` };
  expect(await refusal("one/exec?command=x&stdout=1", { headers })).toEqual({
    code: 403,
    message: expect.stringMatching(/cannot create resource "pods\/exec"/),
  });
  const client = await open("one/exec?command=x&stdout=1", { headers: { Authorization: `Bearer ${user.token}` } });
  const command = sessions.commands.at(-1);
  // What is run ends also when the client does not hear of it.
  client.pause();
  expect((await api.ask("DELETE", user.credential)).status).toBe(200);
  await expect.poll(() => command?.isKilled(), { timeout: 10_000 }).toBe(true);
  client.resume();
  expect(await client.closed).toMatchObject({ code: 1001 });
});

/** A person who may do this with these in the namespace of the Pods. */
async function allowedUser(user: string, resources: readonly string[], verbs: readonly string[]) {
  const token = newToken();
  const rbac = "rbac.authorization.k8s.io";
  const roles = `/apis/${rbac}/v1/namespaces/default`;
  const object = (kind: string) => ({ apiVersion: `${rbac}/v1`, kind, metadata: { name: user } });
  const credentials = "/apis/slipway.dev/v1alpha1/credentials";
  const credential = newCredential({ user, groups: [], form: "Token", sha256: credentialHash(token) });
  for (const [path, body] of [
    [credentials, credential],
    [`${roles}/roles`, { ...object("Role"), rules: [{ apiGroups: [""], resources, verbs }] }],
    [
      `${roles}/rolebindings`,
      {
        ...object("RoleBinding"),
        roleRef: { apiGroup: rbac, kind: "Role", name: user },
        subjects: [{ apiGroup: rbac, kind: "User", name: user }],
      },
    ],
  ] as const)
    expect((await api.ask("POST", path, { body })).status).toBe(201);
  return { token, credential: `${credentials}/${credential.metadata.name}` };
}

describe("who is refused", () => {
  const asked = "exec?command=x&stdout=1";
  test.each([
    ["a Pod that does not exist", `none/${asked}`, 404, /pods "none" not found/],
    ["a container that it does not have", `one/${asked}&container=zzz`, 400, /container zzz is not valid for pod one/],
    ["none of several", `two/${asked}`, 400, /a container name must be specified for pod two, choose one of: \[a b\]/],
    ["no stream", "one/exec?command=x", 400, /at least 1 of stdin, stdout, stderr/],
    ["no command", "one/exec?stdout=1", 400, /at least one command/],
    ["a flag that is none", "one/exec?command=x&stdout=maybe", 400, /stdout must be true or false/],
  ])("%s", async (_what, path, code, message) => {
    expect(await refusal(path)).toEqual({ code, message: expect.stringMatching(message) });
  });

  test("the container that the Pod names for such cases is taken", async () => {
    const { client, command } = await start(`named/${asked}`);
    expect(command.request.container).toBe("b");
    client.close();
  });

  test("protocols that are not spoken here", async () => {
    expect(await refusal(`one/${asked}`, { protocols: ["channel.k8s.io"] })).toEqual({
      code: 400,
      message: expect.stringContaining("v5.channel.k8s.io, v4.channel.k8s.io"),
    });
  });

  test("who has no credentials, and pages of other sites", async () => {
    expect(await refusal(`one/${asked}`, { headers: { Authorization: "" } })).toMatchObject({ code: 401 });
    expect(await refusal(`one/${asked}`, { headers: { Origin: "https://evil.example" } })).toMatchObject({ code: 403 });
  });

  test("requests without WebSockets hear what they need", async () => {
    const path = `${pods}/one/${asked}`;
    // What is wrong with the Pod comes first: kubectl asks a second time without WebSockets, and prints what it hears then.
    expect((await api.ask("POST", `${pods}/none/${asked}`)).status).toBe(404);
    expect((await api.ask("POST", `${path}&container=zzz`)).status).toBe(400);
    expect((await api.ask("POST", `${pods}/one/attach?stdin=1`)).json).toMatchObject({
      code: 400,
      message: "no stdin",
    });
    const spdy = { Connection: "Upgrade", Upgrade: "SPDY/3.1" };
    for (const ask of [
      () => api.ask("POST", path, { headers: spdy }),
      () => api.ask("POST", path),
      () => api.ask("GET", path),
    ])
      expect((await ask()).json).toMatchObject({ code: 501, message: expect.stringContaining("kubectl 1.30") });
    // kubectl names no ports in its request: it would do so over the connection.
    expect((await api.ask("POST", `${pods}/one/portforward`, { headers: spdy })).json).toMatchObject({
      code: 501,
      message: expect.stringContaining("kubectl does not speak it"),
    });
    expect((await api.ask("GET", pods, { headers: { Connection: "Upgrade", Upgrade: "h2c" } })).status).toBe(200);
    const body = { headers: { Connection: "Upgrade", Upgrade: "h2c" }, body: { kind: "Pod" } };
    expect(await api.ask("POST", pods, body)).toMatchObject({ status: 400 });
    expect((await api.ask("GET", `${pods}/one`)).status).toBe(200);
  });
});
