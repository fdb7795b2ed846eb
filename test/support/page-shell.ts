import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readdir, symlink } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { dirname, join } from "node:path";
import { needRoot } from "./need-root.ts";
import { kubectlFolder, removeDirectory, root, temporaryDirectory, withoutCollecting } from "./slipway.ts";
import { within } from "./within.ts";

/** One bash that the blocks of a page are pasted into, in a clone, with a new home, network and process table. */
export interface PageShell {
  /** The directory of the clone. */
  readonly clone: string;
  /** Pastes a block as it is. Resolves with what it printed on both streams; the status of a command that failed is part of it. */
  paste(block: string): Promise<string>;
  /** Lets the page reach a port of this machine's loopback under the same number. */
  bringIn(port: number): Promise<void>;
  /** Ends the shell and every program that the page has started. */
  close(): Promise<void>;
}

/** What a terminal has: aliases. And what a reader sees: commands that fail, and any part of a pipe that does. */
const prelude = `ip link set lo up
exec 2>&1
shopt -s expand_aliases
set -o pipefail
trap 'echo "[exit status $?: $BASH_COMMAND]"' ERR
`;

/**
 * Takes root, as Docker does. The network has nothing but loopback, so that a page has the usual ports for itself. `node` is
 * the program that runs the page's commands, by default the one on the path.
 */
export async function openPageShell(node?: string): Promise<PageShell> {
  needRoot("give a page a network of its own (unshare)");
  const place = await temporaryDirectory();
  const [home, clone] = [join(place, "home"), join(place, "clone")];
  await mkdir(join(home, "tmp"), { recursive: true });
  await mkdir(clone);
  for (const name of await readdir(root)) if (name !== ".git") await symlink(join(root, name), join(clone, name));
  if (!existsSync(join(kubectlFolder, "kubectl")))
    throw new Error("kubectl is missing; run: node scripts/test-tools.mjs");
  const namespaces = ["--net", "--pid", "--fork", "--mount-proc", "--kill-child"];
  const child = spawn("unshare", [...namespaces, "bash", "-s"], {
    cwd: clone,
    env: {
      PATH: [...(node === undefined ? [] : [dirname(node)]), kubectlFolder, process.env["PATH"]].join(":"),
      ...withoutCollecting,
      HOME: home,
      TMPDIR: join(home, "tmp"),
      LANG: "C.UTF-8",
      // Each version of Node.js compiles for itself, and only so many files are kept.
      NODE_COMPILE_CACHE: node === undefined ? join(root, "node_modules/.cache") : dirname(dirname(node)),
    },
    stdio: ["pipe", "pipe", "pipe"],
  });
  // Its streams close when the last program of the page has ended.
  const exited = once(child, "close");
  let printed = "";
  let look = () => undefined as void;
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
      look();
    });
  child.stdin.on("error", () => undefined);
  child.stdin.write(prelude);
  let blocks = 0;
  const relays: Server[] = [];
  async function paste(block: string): Promise<string> {
    const mark = `[end of block ${(blocks += 1)}]\n`;
    child.stdin.write(`${block}\necho '${mark.trim()}'\n`);
    const ended = new Promise<void>((resolve, reject) => {
      look = () => {
        if (printed.includes(mark)) resolve();
      };
      look();
      void exited.then(() => reject(new Error(`the shell has ended, having printed\n${printed}`)));
    });
    await within(100_000, "the shell is done with a block", ended, () => `${block}\n\n${printed}`);
    const end = printed.indexOf(mark);
    const out = printed.slice(0, end);
    printed = printed.slice(end + mark.length);
    return out;
  }
  return {
    clone,
    paste,
    async bringIn(port) {
      // A socket in a directory is the same one in every network.
      const path = join(place, `${port}.sock`);
      const relay = createServer((inner) => {
        const outer = connect(port, "127.0.0.1");
        for (const end of [inner, outer]) end.on("error", () => [inner, outer].forEach((socket) => socket.destroy()));
        inner.pipe(outer).pipe(inner);
      });
      relays.push(relay.listen(path));
      await once(relay, "listening");
      const script = `require("net").createServer((inner) => inner.on("error", () => 0).pipe(require("net").connect("${path}")
        .on("error", () => inner.destroy())).pipe(inner)).listen(${port}, "127.0.0.1", () => require("fs").writeFileSync("${path}.up", ""))`;
      await paste(`node -e '${script}' &\nuntil test -e ${path}.up; do sleep 0.1; done`);
    },
    async close() {
      child.kill("SIGKILL");
      await exited;
      for (const relay of relays) relay.close();
      await removeDirectory(place);
    },
  };
}
