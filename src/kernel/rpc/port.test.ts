import { credentials } from "@grpc/grpc-js";
import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, expect, test } from "vitest";
import { silentLog, systemClock } from "#lib/base/index.ts";
import { CertificateFolder } from "#test/support/certificates.ts";
import { RpcListener, type RpcListenerOptions, RpcPort, service, workflowV2 } from "./index.ts";
import { isRefused, RpcClient } from "./testing/index.ts";

const { WorkflowService } = workflowV2;
const { publishEvent } = WorkflowService.method;
const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function open(): Promise<RpcPort> {
  const port = await RpcPort.open("127.0.0.1:0");
  closers.push(() => port.close());
  return port;
}

async function serve(address: RpcPort, options: Partial<RpcListenerOptions> = {}): Promise<void> {
  const services = [service(WorkflowService, { publishEvent: async () => ({}) })];
  const listener = await RpcListener.start({ address, services, clock: systemClock, log: silentLog, ...options });
  closers.push(() => listener.close());
}

const event = { event: { workflowId: "w" } };

test("who connects before anything is served waits, and what he has asked is answered", async () => {
  const port = await open();
  const client = new RpcClient(port.port);
  closers.push(() => client.close());
  const answer = client.unary(publishEvent, event);
  // Connected, and has said all he has to say: his first bytes are in the socket and not in any HTTP/2.
  const socket = connect(port.port, "127.0.0.1");
  await once(socket, "connect");
  socket.destroy();
  await serve(port);
  expect(isRefused(await answer)).toBe(false);
});

test("the first connection by TLS is shown the certificate, although it came before gRPC was loaded", async () => {
  const folder = await CertificateFolder.create();
  closers.push(() => folder.close());
  await folder.sign("server", "server");
  const port = await open();
  const client = new RpcClient(port.port, credentials.createSsl(folder.read("ca.crt")));
  closers.push(() => client.close());
  const answer = client.unary(publishEvent, event);
  await serve(port, { tls: { certificate: folder.file("server.crt"), key: folder.file("server.key") } });
  expect(isRefused(await answer)).toBe(false);
});

test("connections beyond the limit are ended, and a place is free again when another one ends", async () => {
  const port = await RpcPort.open("127.0.0.1:0", 1);
  closers.push(() => port.close());
  port.serve(
    (socket) =>
      void socket
        .resume()
        .once("end", () => socket.end())
        .write("x"),
  );
  const first = connect(port.port, "127.0.0.1");
  await once(first, "data");
  const second = connect(port.port, "127.0.0.1").resume();
  second.on("error", () => undefined);
  await once(second, "close");
  expect(first.destroyed).toBe(false);
  first.destroy();
  const isServed = async () => {
    const third = connect(port.port, "127.0.0.1");
    closers.push(() => void third.destroy());
    third.on("error", () => undefined);
    const ended = new Promise<boolean>((resolve) => third.once("close", () => resolve(false)));
    return await Promise.race([once(third, "data").then(() => true), ended]);
  };
  await expect.poll(isServed, { timeout: 10_000 }).toBe(true);
});

test("an address is taken or refused before anything is served there", async () => {
  const { port } = await open();
  await expect(RpcPort.open(`127.0.0.1:${port}`)).rejects.toMatchObject({
    code: "rpc-listen",
    message: `cannot listen on 127.0.0.1:${port}: the port is in use`,
  });
  for (const address of ["127.0.0.1", "127.0.0.1:70000", ":0", "[x]:0", "1:2:3"])
    await expect(RpcPort.open(address)).rejects.toThrow(`cannot listen on ${address}: expected host:port`);
});

test("a listener whose certificates cannot be read lets its port go", async () => {
  const port = await open();
  await expect(serve(port, { tls: { certificate: "/nowhere/crt", key: "/nowhere/key" } })).rejects.toThrow("ENOENT");
  const again = await RpcPort.open(`127.0.0.1:${port.port}`);
  closers.push(() => again.close());
});

test("when it closes, connections that nobody serves are ended", async () => {
  const port = await open();
  const sockets = [connect(port.port, "127.0.0.1"), connect(port.port, "127.0.0.1")];
  // One that is not accepted yet is reset, which is an end, too.
  for (const socket of sockets) socket.on("error", () => undefined);
  const closed = sockets.map((socket) => new Promise((resolve) => socket.once("close", resolve)));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  port.close();
  await Promise.all(closed);
});
