import { spawn } from "node:child_process";
import { createServer, type Server } from "node:http";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import type { OutsideRequest } from "./courier.ts";
import { EgressRules } from "./egress.ts";
import { take, writeOrder } from "./files.ts";
import { performEmail } from "./perform-email.ts";
import { performHttp } from "./perform-http.ts";
import { processCourier } from "./process-courier.ts";

let root = "";
let program = "";
const received: string[] = [];
let server: Server;
let port = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "courier-"));
  program = join(root, "courier.cjs");
  await build({
    entryPoints: [join(import.meta.dirname, "program.ts")],
    outfile: program,
    bundle: true,
    platform: "node",
    format: "cjs",
    logLevel: "silent",
    define: { "import.meta.dirname": "__dirname" },
  });
  server = createServer((request, response) => {
    const url = request.url ?? "";
    received.push(`${request.method} ${url}`);
    if (url === "/big") return void response.end("x".repeat(5 * 1024 * 1024));
    if (url === "/hang") return;
    if (url === "/loop") return void response.writeHead(302, { location: "/loop" }).end();
    if (url === "/away") return void response.writeHead(307, { location: "http://169.254.169.254/" }).end();
    response.setHeader("x-two", ["a", "b"]);
    response.statusCode = 201;
    request.pipe(response);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  port = typeof address === "object" && address !== null ? address.port : 0;
}, 30_000);

afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(root, { recursive: true, force: true });
});

async function portOf(tcp: import("node:net").Server): Promise<number> {
  tcp.listen(0, "127.0.0.1");
  await new Promise((resolve) => tcp.once("listening", resolve));
  const address = tcp.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

const denied = ["169.254.0.0/16"];
const signal = new AbortController().signal;
const to = (path: string, more: object = {}): Extract<OutsideRequest, { kind: "http" }> => ({
  kind: "http",
  method: "POST",
  url: `http://127.0.0.1:${port}${path}`,
  headers: { authorization: "secret-token" },
  body: "hello",
  timeoutMs: 5_000,
  ...more,
});

const courierIn = (name: string) =>
  processCourier({ directory: join(root, name), program, denied, clock: systemClock });

test("an effect is performed once, and asked again it answers the same", async () => {
  const courier = courierIn("one");
  const first = await courier.deliver("e1", to("/hook"), signal);
  expect(first).toMatchObject({
    kind: "answer",
    answer: { ok: true, value: { statusCode: 201, body: "hello", header: { "X-Two": ["a", "b"] } } },
  });
  expect(await courierIn("one").deliver("e1", to("/hook"), signal)).toEqual(first);
  expect(await courierIn("one").outcome("e1", signal)).toEqual(first);
  expect(received.filter((line) => line === "POST /hook")).toHaveLength(1);
  // The request, which may hold secrets, is gone; the rest is private.
  const names = await readdir(join(root, "one"));
  expect(names.sort()).toEqual(["e1.answer", "e1.taken", "place"]);
  for (const name of names) {
    expect((await stat(join(root, "one", name))).mode & 0o077).toBe(0);
    expect(await readFile(join(root, "one", name), "utf8")).not.toContain("secret-token");
  }
  await courier.forget(["e1"]);
  expect(await courier.outcome("e1", signal)).toEqual({ kind: "absent" });
});

test("an aborted wait does not end the effect: the next server takes its answer", async () => {
  const abort = new AbortController();
  const courier = courierIn("two");
  await courier.place();
  const waiting = courier.deliver("e2", to("/later"), abort.signal);
  waiting.catch(() => undefined);
  setImmediate(() => abort.abort(new Error("the server ends")));
  await expect(waiting).rejects.toThrow("the server ends");
  const again = courierIn("two");
  expect(await again.deliver("e2", to("/later"), signal)).toMatchObject({ kind: "answer", answer: { ok: true } });
  expect(received.filter((line) => line === "POST /later")).toHaveLength(1);
});

test("an effect whose courier died is unknown and never repeated", async () => {
  const courier = courierIn("three");
  await courier.place();
  const directory = join(root, "three");
  await writeOrder(directory, "e3", { request: to("/never"), denied });
  const child = spawn(process.execPath, ["-e", ""]);
  await new Promise((resolve) => child.once("exit", resolve));
  const { writeFile } = await import("node:fs/promises");
  await writeFile(join(directory, "e3.taken"), JSON.stringify({ pid: child.pid, startTicks: "1", boot: "gone" }));
  expect(await courier.deliver("e3", to("/never"), signal)).toEqual({ kind: "unknown" });
  expect(await take(directory, "e3")).toBe(false);
  expect(received).not.toContain("POST /never");
});

test("bad input: hanging, endless and redirecting endpoints, and denied addresses", async () => {
  const ask = (request: ReturnType<typeof to>) => performHttp(request, { denied, clock: systemClock });
  const host = `127.0.0.1:${port}`;
  expect(await ask(to("/hang", { timeoutMs: 100 }))).toEqual({
    ok: false,
    message: `POST ${host}: no answer within 0.1s`,
    isDone: true,
  });
  expect(await ask(to("/big"))).toEqual({ ok: false, message: `POST ${host}: the answer exceeds 4 MiB`, isDone: true });
  expect(await ask(to("/loop"))).toEqual({
    ok: false,
    message: `POST ${host}: stopped after 10 redirects`,
    isDone: true,
  });
  const away = { ok: false, message: `POST ${host}: address 169.254.169.254 is denied by EgressDeny`, isDone: true };
  expect(await ask(to("/away"))).toEqual(away);
});

test("a request whose connection fails was not sent; one whose connection breaks may have been", async () => {
  const ask = (request: ReturnType<typeof to>) => performHttp(request, { denied, clock: systemClock });
  const breaking = createTcpServer((socket) => void socket.once("data", () => socket.resetAndDestroy()));
  const openPort = await portOf(breaking);
  const broken = await ask(to("", { url: `http://127.0.0.1:${openPort}/` }));
  expect(broken).toMatchObject({ ok: false, isDone: true });
  breaking.close();
  await new Promise((resolve) => breaking.once("close", resolve));
  const refused = await ask(to("", { url: `http://127.0.0.1:${openPort}/` }));
  expect(refused).toMatchObject({ ok: false, message: expect.stringContaining("ECONNREFUSED") as string });
  expect(refused).not.toHaveProperty("isDone");
  // Without TLS there is no secure connection to send over.
  expect(await ask(to("", { url: `https://127.0.0.1:${port}/` }))).not.toHaveProperty("isDone");
});

test("a mail that the server refuses was not sent; one whose connection breaks after its text may have been", async () => {
  const speak = async (end: (socket: import("node:net").Socket) => void) => {
    const smtp = createTcpServer((socket) => {
      socket.write("220 test\r\n");
      socket.on("data", (chunk: Buffer) => {
        const text = chunk.toString();
        if (text.startsWith("DATA")) socket.write("354 go\r\n");
        else if (text.endsWith("\r\n.\r\n")) end(socket);
        else socket.write("250 ok\r\n");
      });
      socket.on("error", () => undefined);
    });
    const mail = { host: "127.0.0.1", port: await portOf(smtp), username: "", password: "", subject: "", body: "text" };
    const answer = await performEmail(
      { kind: "email", ...mail, from: { address: "a@b.test" }, to: ["c@d.test"] },
      new EgressRules([]),
    );
    smtp.close();
    return answer;
  };
  expect(await speak((socket) => socket.write("554 no\r\n"))).not.toHaveProperty("isDone");
  expect(await speak((socket) => socket.destroy())).toMatchObject({ ok: false, isDone: true });
});

test("a mail is sent once, with its text and subject encoded", async () => {
  const lines: string[] = [];
  const smtp = createTcpServer((socket) => {
    let isData = false;
    socket.write("220 test\r\n");
    socket.on("data", (chunk: Buffer) => {
      for (const line of chunk
        .toString()
        .split("\r\n")
        .filter((text) => text !== "")) {
        lines.push(line);
        if (isData && line !== ".") continue;
        if (line === "DATA") isData = true;
        else if (line === ".") isData = false;
        const isAuth = line.startsWith("AUTH");
        socket.write(
          line === "DATA"
            ? "354 go\r\n"
            : line.startsWith("EHLO")
              ? "250-test\r\n250 AUTH PLAIN\r\n"
              : isAuth
                ? "235 ok\r\n"
                : "250 ok\r\n",
        );
        if (line === "QUIT") socket.end();
      }
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => smtp.once("listening", resolve));
  const address = smtp.address();
  const request: OutsideRequest = {
    kind: "email",
    host: "127.0.0.1",
    port: typeof address === "object" && address !== null ? address.port : 0,
    username: "me@a.test",
    password: "pw",
    from: { address: "me@a.test", alias: "Me" },
    to: ["you@b.test"],
    subject: "Grüße",
    body: "<b>done</b>",
  };
  const delivered = await courierIn("four").deliver("mail", request, signal);
  smtp.close();
  expect(delivered).toEqual({ kind: "answer", answer: { ok: true, value: {} } });
  expect(lines).toContain("RCPT TO:<you@b.test>");
  expect(lines.some((line) => line.includes("<b>done</b>"))).toBe(true);
  expect(lines.find((line) => line.startsWith("Subject:"))).toMatch(/=\?UTF-8\?/);
});
