import { execFileSync } from "node:child_process";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { get } from "node:http";
import { join } from "node:path";
import { connect } from "node:tls";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type JsonValue, listAt, objectAt, textAt } from "#lib/base/index.ts";
import type { TextSocket } from "#kernel/websocket/index.ts";
import { addWorkflow } from "../store/testing/store-fixture.ts";
import { ApiFixture, basic, firstUser } from "./testing/api-fixture.ts";

let api: ApiFixture;
beforeAll(async () => {
  api = await ApiFixture.open();
  await addWorkflow(api.store);
});
afterAll(() => api.close());

const octets = { "content-type": "application/octet-stream" };
const admin = { authorization: basic(firstUser.name, firstUser.password) };

interface Heard {
  readonly socket: TextSocket;
  readonly events: readonly JsonValue[];
  readonly texts: () => readonly string[];
}

async function listen(headers: Readonly<Record<string, string>>, ...filters: readonly string[]): Promise<Heard> {
  const socket = await api.events(headers);
  onTestFinished(() => socket.cut());
  const events: JsonValue[] = [];
  socket.listen((text) => events.push(JSON.parse(text) as JsonValue));
  for (const filter of filters) await socket.send(`register ${filter}`);
  const texts = () =>
    events.map((event) => `${textAt(event, "Type")}.${textAt(event, "Action")} ${textAt(event, "Key")}`);
  await expect.poll(() => events.length).toBe(filters.length);
  return { socket, events, texts };
}

test("15.26 every transition of a machine and its jobs is an event, in order, with the object before and after", async () => {
  const { uuid, auth } = await api.machine({ Name: "events.example", Workflow: "ww" });
  const { events, texts } = await listen(admin, `machines.*.${uuid}`, "jobs.*.*");
  expect(texts()).toEqual([`websocket.register machines.*.${uuid}`, "websocket.register jobs.*.*"]);
  const job = textAt((await api.ask("POST", "/jobs", { body: { Machine: uuid }, auth })).json, "Uuid");
  const body = [{ op: "replace", path: "/State", value: "failed" }];
  await api.ask("PATCH", `/jobs/${job}`, { body, auth });
  await expect
    .poll(texts)
    .toEqual([
      `websocket.register machines.*.${uuid}`,
      "websocket.register jobs.*.*",
      `jobs.create ${job}`,
      `machines.update ${uuid}`,
      `jobs.update ${job}`,
      `machines.update ${uuid}`,
    ]);
  expect(events.at(-1)).toMatchObject({
    Principal: `runner:${uuid}`,
    Object: { Runnable: false },
    Original: { Runnable: true },
  });
  expect(events[2]).toMatchObject({ Object: { State: "created" }, Original: null });
});

test("requests and event streams with the token of a machine tell of its agent, those of users do not", async () => {
  const { uuid, auth } = await api.machine({ Name: "present.example", Workflow: "ww" });
  const told = (): readonly string[] => api.presence.filter((text) => text.includes(uuid));
  await api.ask("GET", `/machines/${uuid}`);
  expect(told()).toEqual([]);
  await api.ask("GET", `/machines/${uuid}`, { auth });
  const { socket } = await listen({ authorization: auth }, `machines.*.${uuid}`);
  expect(told()).toEqual([`heard ${uuid}`, `stream of ${uuid}`]);
  socket.close();
  await expect.poll(() => told().at(-1)).toBe(`stream of ${uuid} ended`);
});

test("registrations are acknowledged again, useless ones too, and end with deregister", async () => {
  const { socket, texts } = await listen(admin, "profiles.create.*", "profiles.create.*", "useless");
  await socket.send("hello");
  await socket.send("deregister profiles.create.*");
  await socket.send("register events.made\\1up,other.a.b,x");
  await expect.poll(() => texts().length).toBe(5);
  expect((await api.ask("POST", "/profiles", { body: { Name: "quiet" } })).code).toBe(201);
  const sent = { Type: "events", Action: "made.up", Key: "a.b", Principal: "user:other", Object: { n: 1 } };
  expect((await api.ask("POST", "/events", { body: sent })).code).toBe(204);
  await expect.poll(() => texts().at(-1)).toBe("events.made.up a.b");
  expect(texts()).toHaveLength(6);
  const forged = { Type: "machines", Action: "update", Key: "x" };
  expect((await api.ask("POST", "/events", { body: forged })).code).toBe(403);
});

test("a connection gets what its caller may get, and ends when the credentials are revoked", async () => {
  const own = await api.machine({ Name: "listens.example", Workflow: "ww" });
  const other = await api.machine({ Name: "unheard.example", Workflow: "ww" });
  const { socket, texts } = await listen({ authorization: own.auth }, "*.*.*");
  await api.ask("POST", "/jobs", { body: { Machine: other.uuid } });
  await api.ask("POST", "/profiles", { body: { Name: "unheard" } });
  const job = textAt((await api.ask("POST", "/jobs", { body: { Machine: own.uuid } })).json, "Uuid");
  await expect.poll(() => texts().slice(1)).toEqual([`jobs.create ${job}`, `machines.update ${own.uuid}`]);
  const body = [{ op: "replace", path: "/Secret", value: "another-secret-16" }];
  await api.ask("PATCH", `/machines/${own.uuid}`, { body });
  expect(await socket.closed).toMatchObject({ code: 1008 });
  expect(texts()).toHaveLength(3);
});

test("a stranger, a web page and another path get no event stream", async () => {
  await expect(api.events({})).rejects.toMatchObject({ answer: { statusCode: 401 } });
  await expect(api.events({ ...admin, origin: "https://evil.example" })).rejects.toMatchObject({
    answer: { statusCode: 403 },
  });
  await expect(api.events({ authorization: "Bearer x.y" })).rejects.toMatchObject({ answer: { statusCode: 403 } });
  const own = await api.events({ ...admin, origin: `https://127.0.0.1:${api.api.https.port}` });
  own.cut();
});

test("15.27 a log of 1 MiB arrives whole and in order, in ranges, and takes more after the job's end; 14.24 no text", async () => {
  const { uuid, auth } = await api.machine({ Name: "logs.example", Workflow: "ww" });
  const job = textAt((await api.ask("POST", "/jobs", { body: { Machine: uuid }, auth })).json, "Uuid") ?? "";
  const first = Buffer.from(`Log for Job: ${job}\n`);
  const path = `/jobs/${job}/log`;
  expect((await api.ask("GET", path, { auth })).text).toBe(first.toString());
  const pieces = Array.from({ length: 16 }, (_, index) => Buffer.alloc(65_536, index + 65));
  for (const bytes of pieces) {
    const put = await api.ask("PUT", path, { bytes, headers: octets, auth });
    expect([put.code, put.headers["content-type"]]).toEqual([204, "application/json"]);
  }
  const whole = Buffer.concat([first, ...pieces]).toString();
  const got = await api.ask("GET", path, { auth });
  expect([got.code, got.headers["content-type"], got.text === whole]).toEqual([200, "application/octet-stream", true]);
  const part = await api.ask("GET", path, { auth, headers: { range: "bytes=65600-65605" } });
  expect([part.code, part.text]).toEqual([206, whole.slice(65_600, 65_606)]);
  expect((await api.ask("GET", path, { auth, headers: { range: "bytes=9999999-" } })).code).toBe(416);
  const head = await api.ask("HEAD", path, { auth });
  expect([head.code, head.headers["content-length"]]).toEqual([200, String(whole.length)]);
  await api.ask("PATCH", `/jobs/${job}`, { body: [{ op: "replace", path: "/State", value: "finished" }], auth });
  await api.ask("PUT", path, { bytes: Buffer.from("end"), headers: octets, auth });
  expect((await api.ask("GET", path, { auth })).text.endsWith("end")).toBe(true);
  expect((await api.ask("PUT", path, { bytes: first, headers: { "content-type": "text/plain" } })).code).toBe(415);
  expect((await api.ask("PUT", "/jobs/none/log", { bytes: first, headers: octets })).code).toBe(404);
});

test("files are stored, listed, described, downloaded in ranges and removed", async () => {
  const bytes = Buffer.from("hello files");
  const made = await api.ask("POST", "/files/dir/a.txt", { bytes, headers: octets });
  expect([made.code, made.json]).toEqual([201, { Path: "/dir/a.txt", Size: 11 }]);
  expect((await api.ask("GET", "/files")).json).toEqual(["dir/"]);
  expect((await api.ask("GET", "/files?path=dir")).json).toEqual(["a.txt"]);
  const head = await api.ask("HEAD", "/files/dir/a.txt");
  expect(head.headers["x-drp-sha256sum"]).toMatch(/^[0-9a-f]{64}$/);
  expect((await api.ask("GET", "/files/dir/a.txt", { headers: { range: "bytes=6-" } })).text).toBe("files");
  const tag = head.headers.etag ?? "";
  expect((await api.ask("GET", "/files/dir/a.txt", { headers: { "if-none-match": tag } })).code).toBe(304);
  expect((await api.ask("DELETE", "/files/dir")).code).toBe(409);
  expect((await api.ask("DELETE", "/files/dir/a.txt")).code).toBe(204);
  expect((await api.ask("GET", "/files/dir/a.txt")).code).toBe(404);
  expect((await api.ask("POST", "/files/x", { bytes, headers: { "content-type": "text/plain" } })).code).toBe(415);
});

test("no path leaves the directory of files, and symbolic links do not exist", async () => {
  await mkdir(join(api.root, "files"), { recursive: true });
  await writeFile(join(api.root, "secret"), "secret");
  await symlink("../secret", join(api.root, "files", "link"));
  await symlink("..", join(api.root, "files", "up"));
  const bytes = Buffer.from("x");
  for (const path of ["..%2fsecret", "%2e%2e/secret", "a/..%2f..%2fsecret", "link", "up/secret", "a%00b"]) {
    expect((await api.ask("GET", `/files/${path}`)).code).toBeGreaterThanOrEqual(400);
    expect((await api.ask("POST", `/files/${path}`, { bytes, headers: octets })).code).toBeGreaterThanOrEqual(400);
    expect(await onStatic(`/files/${path}`)).toMatchObject({ code: 404 });
  }
  expect(await readFile(join(api.root, "secret"), "utf8")).toBe("secret");
  expect((await api.ask("GET", "/files?path=up")).code).toBe(404);
  expect((await api.ask("GET", "/files?path=../")).code).toBe(400);
});

test("an archive is unpacked beside itself; one with links or paths that lead out is refused", async () => {
  const plain = async (entries: readonly (readonly [string, string])[]): Promise<Buffer> => {
    const packed = pack();
    for (const [name, text] of entries)
      if (text.startsWith("->")) packed.entry({ name, type: "symlink", linkname: text.slice(2) });
      else packed.entry({ name }, text);
    packed.finalize();
    const chunks: Buffer[] = [];
    for await (const chunk of packed) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  };
  const archive = async (entries: readonly (readonly [string, string])[]) => gzipSync(await plain(entries));
  const post = async (path: string, entries: readonly (readonly [string, string])[]) =>
    await api.ask("POST", `/isos/${path}?explode=true`, { bytes: await archive(entries), headers: octets });
  expect(
    (
      await post("in/a.tgz", [
        ["./sub/one", "1"],
        ["two", "2"],
      ])
    ).code,
  ).toBe(201);
  expect((await api.ask("GET", "/isos?path=in")).json).toEqual(["a.tgz", "sub/", "two"]);
  expect((await api.ask("GET", "/isos/in/sub/one")).text).toBe("1");
  const packings = [
    ["tar", (bytes) => bytes],
    ["xz", (bytes) => execFileSync("xz", ["-c"], { input: bytes })],
    ["bz2", (bytes) => execFileSync("bzip2", ["-c"], { input: bytes })],
    ["zst", (bytes) => execFileSync("zstd", ["-qc"], { input: bytes })],
  ] as const satisfies readonly (readonly [string, (bytes: Buffer) => Buffer])[];
  for (const [name, packed] of packings) {
    const bytes = packed(await plain([["inner", name]]));
    const sent = (path: string, part: Buffer) =>
      api.ask("POST", `/isos/${path}?explode=true`, { bytes: part, headers: octets });
    expect((await sent(`${name}/whole`, bytes)).code, name).toBe(201);
    expect((await api.ask("GET", `/isos/${name}/inner`)).text).toBe(name);
    expect((await sent(`${name}/half`, bytes.subarray(0, bytes.length / 2))).code, name).toBe(400);
  }
  expect((await post("bad/b.tgz", [["../../out", "1"]])).code).toBe(400);
  expect((await post("bad/c.tgz", [["l", "->/etc/passwd"]])).code).toBe(400);
  expect((await api.ask("POST", "/isos/d.tgz?explode=true", { bytes: Buffer.from("no"), headers: octets })).code).toBe(
    400,
  );
});

interface Static {
  readonly code: number;
  readonly text: string;
}

const onStatic = (path: string): Promise<Static> =>
  new Promise((resolve, reject) => {
    get({ host: "127.0.0.1", port: api.api.http?.port, path }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => resolve({ code: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    }).on("error", reject);
  });

test("the static server has files and what the machines' boot environments and stages render", async () => {
  await api.ask("POST", "/files/boot/kernel", { bytes: Buffer.from("kernel"), headers: octets });
  expect(await onStatic("/files/boot/kernel")).toEqual({ code: 200, text: "kernel" });
  await api.ask("POST", "/stages", {
    body: { Name: "rendered", Templates: [{ Name: "seed", Path: "machines/own/seed", Contents: "seed text" }] },
  });
  await api.machine({ Name: "static.example", Stage: "rendered" });
  expect(await onStatic("/machines/own/seed")).toEqual({ code: 200, text: "seed text" });
  const tree = join(api.root, "trees/debian-9/install");
  await mkdir(tree, { recursive: true });
  await writeFile(join(tree, "linux"), "a kernel");
  expect(await onStatic("/debian-9/install/linux")).toEqual({ code: 200, text: "a kernel" });
  expect(await onStatic("/machines/own/other")).toEqual({ code: 404, text: "" });
  expect(await onStatic("/api/v3/info")).toEqual({ code: 404, text: "" });
});

test("14.30 a body over 16 MiB is 413, and a page of another origin is refused", async () => {
  const body = { Name: "big", Description: "x".repeat(16 * 2 ** 20) };
  expect((await api.ask("POST", "/profiles", { body })).json).toMatchObject({ Code: 413 });
  const headers = { origin: "https://evil.example" };
  expect((await api.ask("GET", "/info", { headers })).code).toBe(403);
  expect((await api.ask("GET", "/info")).code).toBe(200);
});

test("the listener speaks HTTP/1.1 only, to clients that offer HTTP/2 first", async () => {
  const socket = connect({
    host: "127.0.0.1",
    port: api.api.https.port,
    rejectUnauthorized: false,
    ALPNProtocols: ["h2", "http/1.1"],
  });
  await new Promise((resolve) => socket.once("secureConnect", resolve));
  expect(socket.alpnProtocol).toBe("http/1.1");
  socket.destroy();
});

test("actions of plugins run, publish an event and say what is missing", async () => {
  const { uuid } = await api.machine({ Name: "acts.example" });
  const script =
    "let t='';process.stdin.on('data',(c)=>t+=c).on('end',()=>console.log(JSON.stringify(JSON.parse(t).params)))";
  const argv = [process.execPath, "-e", script];
  await api.ask("POST", "/params", { body: { Name: "exec/commands", Schema: { type: "object" } } });
  const plugin = {
    Name: "tools",
    Provider: "exec",
    Params: { "exec/commands": { echo: { argv, RequiredParams: ["word"] }, fail: ["false"] } },
  };
  expect((await api.ask("POST", "/plugins", { body: plugin })).code).toBe(201);
  const path = `/machines/${uuid}/actions`;
  const { texts } = await listen(admin, "machines.echo.*");
  expect(listAt((await api.ask("GET", path)).json)).toHaveLength(2);
  expect(objectAt((await api.ask("GET", `${path}/echo`)).json)).toMatchObject({
    Command: "echo",
    RequiredParams: ["word"],
  });
  expect((await api.ask("GET", `${path}/none`)).json).toMatchObject({ Code: 404, Messages: ["none: Not Found"] });
  expect((await api.ask("POST", `${path}/none`, { body: {} })).json).toMatchObject({ Code: 400, Type: "INVOKE" });
  expect((await api.ask("POST", `${path}/echo`, { body: {} })).json).toMatchObject({ Code: 400, Type: "INVOKE" });
  expect((await api.ask("POST", `${path}/echo`, { body: { word: "hi" } })).json).toEqual({ word: "hi" });
  expect((await api.ask("POST", `${path}/fail`)).json).toMatchObject({ Code: 409, Messages: ["exit code 1"] });
  await expect.poll(texts).toEqual(["websocket.register machines.echo.*", `machines.echo ${uuid}`]);
  expect((await api.ask("GET", "/stages/none/actions")).json).toEqual([]);
});
