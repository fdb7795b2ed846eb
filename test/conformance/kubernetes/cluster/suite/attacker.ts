// A program of its own, so that what it does takes nothing of the process that measures: `attacker.ts KUBECONFIG`. A line `NUMBER NAME` of its input
// begins an attack, and `begun` is printed when that is in full swing; an empty line ends it, and a line of JSON is printed: answers by status. NAME
// is one of `attacks.ts`, with NUMBER of them at once, or a way to hold NUMBER of connections.
import { connect as connectTcp, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { connect } from "node:tls";
import { type Api, openApi } from "./api.ts";
import { attackNames, attackOf } from "./attacks.ts";

const [kubeconfig = ""] = process.argv.slice(2);
const print = (line: string) => void process.stdout.write(`${line}\n`);

/** What is under way. */
class Attack {
  readonly name: string;
  readonly number: number;
  readonly #counts: Record<string, number> = {};
  readonly #opened: (() => void)[] = [];
  #hasBegun = false;
  isOver = false;

  constructor(name: string, number: number) {
    this.name = name;
    this.number = number;
  }

  count(what: string | number): void {
    this.#counts[what] = (this.#counts[what] ?? 0) + 1;
  }

  begun(): void {
    if (!this.#hasBegun && !this.isOver) print("begun");
    this.#hasBegun = true;
  }

  /** With the attack go the connections of these. */
  async open(): Promise<Api> {
    const api = await openApi(kubeconfig);
    this.onEnd(() => api.close());
    return api;
  }

  onEnd(close: () => void): void {
    this.#opened.push(close);
  }

  end(): void {
    this.isOver = true;
    print(JSON.stringify(this.#counts));
    for (const close of this.#opened) close();
  }
}

/** Asks again and again. A connection that the server has closed instead of reading on counts as `closed`. */
async function askOn(attack: Attack, asks: Api): Promise<void> {
  const { method, path, ask, stored } = attackOf(attack.name);
  if (stored !== undefined) await asks.ask("POST", stored.path, { body: stored.body }).catch(() => undefined);
  while (!attack.isOver) {
    const status = await asks.ask(method, path, ask).then(
      (answer) => answer.status,
      () => "closed",
    );
    attack.count(status);
    attack.begun();
  }
}

/** Ways to hold a connection to `where`; `done` is called when it is held. */
type Hold = (where: { readonly host: string; readonly port: number }, done: () => void) => Socket;

const holds: Readonly<Record<string, Hold>> = {
  // Each was used once, so that it may rest.
  "idle connections": (where, done) => {
    const socket = connect({ ...where, rejectUnauthorized: false }, () => {
      socket.once("data", () => done());
      socket.write("GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n");
    });
    return socket;
  },
  "connections without a handshake": (where, done) => connectTcp(where, done),
  "headers that never end": (where, done) => {
    const socket = connect({ ...where, rejectUnauthorized: false }, () => {
      socket.write("GET /version HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", done);
    });
    return socket;
  },
};

/** Fifty at a time: more would wait in the queue of the listening socket. */
async function holdAll(attack: Attack, hold: Hold): Promise<void> {
  const { hostname, port } = new URL((await attack.open()).url);
  const one = () =>
    new Promise<void>((resolve) => {
      const told = (what: string) => () => {
        attack.count(what);
        resolve();
      };
      const socket = hold({ host: hostname, port: Number(port) }, told("held"));
      attack.onEnd(() => socket.destroy());
      socket.resume();
      socket.once("error", () => undefined);
      socket.once("close", told("closed"));
    });
  for (let held = 0; held < attack.number; held += 50)
    await Promise.all(Array.from({ length: Math.min(50, attack.number - held) }, one));
  attack.begun();
}

/** Each asks for all ConfigMaps and takes a kilobyte of them a second, until it is cut. */
async function readSlowly(attack: Attack): Promise<void> {
  for (let opened = 0; opened < attack.number; opened += 100) {
    // One has no more than 128 connections.
    const asks = await attack.open();
    const answers = Array.from({ length: Math.min(100, attack.number - opened) }, async () => {
      const response = await asks.send("GET", "/api/v1/configmaps");
      attack.count(response.statusCode ?? 0);
      const timer = setInterval(() => response.read(1024), 1000);
      response.on("readable", () => undefined);
      response.on("error", () => undefined);
      response.once("close", () => {
        clearInterval(timer);
        attack.count("closed");
      });
    });
    await Promise.all(answers);
  }
  attack.begun();
}

async function begin(attack: Attack): Promise<void> {
  const hold = holds[attack.name];
  if (hold !== undefined) return await holdAll(attack, hold);
  if (attack.name === "slow readers") return await readSlowly(attack);
  if (!attackNames.includes(attack.name)) throw new Error(`there is no attack ${JSON.stringify(attack.name)}`);
  const api = await attack.open();
  for (let n = 0; n < attack.number; n += 1) void askOn(attack, api);
}

let current: Attack | undefined;
for await (const line of createInterface({ input: process.stdin })) {
  if (line === "") current?.end();
  else {
    const [, number = "", name = ""] = /^(\d+) (.*)$/.exec(line) ?? [];
    current = new Attack(name, Number(number));
    await begin(current);
  }
}
process.exit(0);
