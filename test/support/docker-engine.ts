import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sleep, systemClock } from "#lib/base/index.ts";
import { exec, type Finished } from "./slipway.ts";

/** A real Docker Engine of a test's own: its images, containers and networks are nobody else's, and go with it. */
export interface TestEngine {
  /** For DOCKER_HOST. */
  readonly host: string;
  readonly socket: string;
  /** Archive of the test image's files. */
  readonly rootTar: string;
  /** Runs the docker program against it. */
  docker(...args: string[]): Promise<Finished>;
  /** Kills the daemon as a power cut would. Containers that run are ended when it comes back. */
  kill(): Promise<void>;
  /** Starts it again after `kill`. */
  restart(): Promise<void>;
  /** Removes all containers and networks. */
  clear(): Promise<void>;
  stop(): Promise<void>;
}

/** The image of tests: all of busybox, as `busybox:1`. */
export const testImage = "busybox:1";

/** Starts an engine, which takes root and some two seconds, and gives it the test image. `options` are of dockerd. */
export async function startEngine(...options: readonly string[]): Promise<TestEngine> {
  const directory = await mkdtemp(join(tmpdir(), "slipway-engine-"));
  const socket = join(directory, "docker.sock");
  const host = `unix://${socket}`;
  const docker = (...args: string[]) => exec("docker", args, { env: { DOCKER_HOST: host } });
  let daemon = await startDaemon(directory, docker, options);
  const ended = async (signal: NodeJS.Signals) => {
    if (daemon.exitCode !== null || daemon.signalCode !== null) return;
    const exit = once(daemon, "exit");
    daemon.kill(signal);
    await exit;
  };
  await importImage(directory, docker);
  const clear = async () => {
    const { out } = await docker("ps", "-aq");
    const ids = out.split("\n").filter(Boolean);
    if (ids.length > 0) await docker("rm", "-f", ...ids);
    await docker("network", "prune", "-f");
  };
  return {
    host,
    socket,
    rootTar: join(directory, "root.tar"),
    docker,
    kill: () => ended("SIGKILL"),
    async restart() {
      daemon = await startDaemon(directory, docker, options);
    },
    clear,
    async stop() {
      await clear();
      await ended("SIGTERM");
      // What a killed daemon had mounted, the next one may have mounted over.
      await exec("sh", ["-c", `grep -o '${directory}[^ ]*' /proc/mounts | sort -r | xargs -r -n1 umount -l`]);
      await rm(directory, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

type Docker = TestEngine["docker"];

/** Starting takes two seconds; what has not begun to serve by then never will. */
const daemonMs = 60_000;

async function startDaemon(directory: string, docker: Docker, options: readonly string[]): Promise<ChildProcess> {
  const at = (name: string) => join(directory, name);
  await rm(at("pid"), { force: true });
  // A killed daemon takes its containerd along; where nobody reaps it, the next one would wait for it to answer.
  await rm(at("exec/containerd/containerd.pid"), { force: true });
  const roots = ["--data-root", at("data"), "--exec-root", at("exec"), "--pidfile", at("pid"), ...options];
  const daemon = spawn("dockerd", [...roots, "--host", `unix://${at("docker.sock")}`, "--bridge", "none"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log = createWriteStream(at("log"), { flags: "a" });
  daemon.stdout?.pipe(log);
  daemon.stderr?.pipe(log);
  const failed = new Promise<never>((_, reject) => {
    daemon.once("error", reject);
    daemon.once("exit", (code) => reject(new Error(`dockerd ended with ${code}, see ${at("log")}`)));
  });
  failed.catch(() => undefined);
  const end = systemClock.monotonic() + daemonMs;
  while ((await Promise.race([docker("version"), failed])).code !== 0) {
    if (daemon.exitCode !== null || systemClock.monotonic() > end)
      throw new Error(`dockerd does not serve:\n${await readFile(at("log"), "utf8")}`);
    await sleep(systemClock, 100);
  }
  return daemon;
}

async function importImage(directory: string, docker: Docker): Promise<void> {
  const root = join(directory, "root");
  await mkdir(join(root, "bin"), { recursive: true });
  await copyFile("/usr/bin/busybox", join(root, "bin/busybox"));
  await chmod(join(root, "bin/busybox"), 0o755);
  const { out } = await exec("/usr/bin/busybox", ["--list"]);
  for (const name of out.split("\n")) {
    if (name !== "" && name !== "busybox") await symlink("busybox", join(root, "bin", name));
  }
  await mkdir(join(root, "tmp"));
  await mkdir(join(root, "etc"));
  const tar = join(directory, "root.tar");
  await exec("tar", ["-C", root, "-cf", tar, "."]);
  const done = await docker("import", "--change", 'CMD ["/bin/sh"]', "--change", "ENV PATH=/bin", tar, testImage);
  if (done.code !== 0) throw new Error(done.err);
}
