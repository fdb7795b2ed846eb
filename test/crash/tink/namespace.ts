import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, readlink } from "node:fs/promises";
import { connect, type Server } from "node:net";
import { pipeline } from "node:stream";
import { sleep, systemClock } from "#lib/base/index.ts";
import { cleanEnvironment, exec } from "#test/support/slipway.ts";

// Machines of a network that exists in this kernel only. They hold on to nothing of this one: a namespace goes with the last process in it, and
// the one that keeps it ends with the test.

/** A machine with a network of its own. */
export class Namespace {
  readonly #keeper: ChildProcess;

  private constructor(keeper: ChildProcess) {
    this.#keeper = keeper;
  }

  static async open(): Promise<Namespace> {
    if (process.getuid?.() !== 0) throw new Error("network namespaces take root: run `sudo npm run test:crash`");
    const keeper = spawn("unshare", ["--net", "sh", "-c", "echo up; read end"], { stdio: ["pipe", "pipe", "inherit"] });
    keeper.stdin.on("error", () => undefined);
    await Promise.race([once(keeper.stdout, "data"), once(keeper, "exit").then(refuse)]);
    const namespace = new Namespace(keeper);
    await namespace.ip("link set lo up");
    return namespace;
  }

  get pid(): number {
    return this.#keeper.pid ?? 0;
  }

  /** Starts a program here; its pid is the program's own. */
  spawn(program: string, args: readonly string[], options: SpawnOptions): ChildProcess {
    return spawn("nsenter", [`--net=/proc/${this.pid}/ns/net`, program, ...args], {
      env: cleanEnvironment(),
      ...options,
    });
  }

  /** Lets programs here reach what listens at a port of this kernel's loopback as if it were their own; the returned server is to be closed. */
  async lend(port: number): Promise<Server> {
    // What listens belongs to the network in which it was made, whoever answers.
    const listen = `require("net").createServer().listen(${port}, "127.0.0.1", function () { process.send("up", this); })`;
    const child = this.spawn(process.execPath, ["-e", listen], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
    const [, server] = (await once(child, "message")) as [unknown, Server];
    child.kill("SIGKILL");
    return server.on("connection", (inside) => {
      const outside = connect(port, "127.0.0.1");
      // Either end may go first, in whichever way.
      pipeline(inside, outside, () => undefined);
      pipeline(outside, inside, () => undefined);
    });
  }

  /** Runs `ip` here: changes to its network. */
  async ip(words: string): Promise<void> {
    const done = await exec("nsenter", [`--net=/proc/${this.pid}/ns/net`, "ip", ...words.split(" ")]);
    if (done.code !== 0)
      throw new Error(`ip ${words}: ${done.err}; if ip is missing, run: node scripts/test-tools.mjs`);
  }

  /**
   * Kills all that runs on this machine, whoever has started it: as when the power goes, nobody sees another end. So all are stopped first,
   * again and again until nobody is left who could have started one more.
   */
  async powerOff(): Promise<void> {
    const stopped = new Set<number>();
    for (let isQuiet = false; !isQuiet; ) {
      const running = (await this.#processes()).filter((pid) => !stopped.has(pid));
      for (const pid of running) send(pid, "SIGSTOP");
      // One that is just starting another goes on until that one is there.
      for (const pid of running) await standsStill(pid);
      for (const pid of running) stopped.add(pid);
      isQuiet = running.length === 0;
    }
    for (const pid of stopped) send(pid, "SIGKILL");
  }

  /** Those that run on this machine, without the one that keeps it. */
  async #processes(): Promise<readonly number[]> {
    const own = await readlink(`/proc/${this.pid}/ns/net`);
    const pids = (await readdir("/proc")).map(Number).filter((pid) => Number.isInteger(pid) && pid !== this.pid);
    // Of one that has ended meanwhile nothing can be read.
    const spaces = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/ns/net`).catch(() => "")));
    return pids.filter((_, at) => spaces[at] === own);
  }

  close(): void {
    this.#keeper.stdin?.destroy();
    this.#keeper.kill("SIGKILL");
  }
}

/** One that has ended meanwhile has nothing left to be told. */
function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (thrown) {
    if (!(thrown instanceof Error && "code" in thrown && thrown.code === "ESRCH")) throw thrown;
  }
}

/** Resolves when no thread of it can do anything any more: each is stopped, or waits for what it has begun, or has ended. */
async function standsStill(pid: number): Promise<void> {
  const tasks = `/proc/${pid}/task`;
  for (;;) {
    const threads = await readdir(tasks).catch(() => []);
    // Of one that has ended meanwhile nothing can be read.
    const stats = await Promise.all(threads.map((id) => readFile(`${tasks}/${id}/stat`, "utf8").catch(() => "")));
    if (!stats.some((stat) => /^.*\) [RS] /s.test(stat))) return;
    await sleep(systemClock, 5);
  }
}

const refuse = (): never => {
  throw new Error("there are no network namespaces here; they take root and unshare: run node scripts/test-tools.mjs");
};

/** A cable between an agent's machine and the switch of the server's. */
export interface Cable {
  /** Nothing gets through, and neither end is told. */
  cut(): Promise<void>;
  heal(): Promise<void>;
}

/** Where the server of agents is on every network of these. */
export const serverAddress = "10.0.0.1";

/** Makes a machine the one with the switch, and the address of the server. */
export async function layNetwork(server: Namespace): Promise<void> {
  await server.ip("link add switch type bridge");
  await server.ip(`addr add ${serverAddress}/16 dev switch`);
  await server.ip("link set switch up");
}

/** Connects a machine as the `number`th, from 1 to 250. */
export async function plugIn(server: Namespace, agent: Namespace, number: number): Promise<Cable> {
  const port = `port${number}`;
  await server.ip(`link add ${port} type veth peer name eth0 netns ${agent.pid}`);
  await server.ip(`link set ${port} master switch up`);
  await agent.ip(`addr add 10.0.1.${number}/16 dev eth0`);
  await agent.ip("link set eth0 up");
  return { cut: () => server.ip(`link set ${port} down`), heal: () => server.ip(`link set ${port} up`) };
}
