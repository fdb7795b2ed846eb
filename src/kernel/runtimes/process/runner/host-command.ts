import { constants } from "node:fs";
import { access, mkdir, open, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { codeOf } from "#lib/base/index.ts";
import type { Task, TaskMount } from "../../contract.ts";

/** The programs that give a child its own view of the file system. */
export interface NamespaceTools {
  readonly unshare: string;
  readonly mount: string;
  readonly setpriv: string;
  readonly shell: string;
}

/** What to spawn for a task. `reportsOn3`: descriptor 3 is a pipe on which a failed preparation says why. */
export interface HostCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly user?: { readonly uid: number; readonly gid: number };
  readonly reportsOn3: boolean;
}

const systemPath = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"];

/** The tools, or why mounts are not possible here. Namespaces are Linux', mounting is root's. */
export async function findNamespaceTools(): Promise<NamespaceTools | string> {
  if (process.platform !== "linux") return "mount namespaces exist on Linux only";
  if (process.getuid?.() !== 0) return "mounting needs root";
  const names = ["unshare", "mount", "setpriv", "sh"] as const;
  const [unshare, mount, setpriv, shell] = await Promise.all(names.map(findProgram));
  if (unshare && mount && setpriv && shell) return { unshare, mount, setpriv, shell };
  return "unshare, mount and setpriv of util-linux are needed";
}

async function findProgram(name: string): Promise<string | undefined> {
  for (const directory of systemPath) {
    const path = join(directory, name);
    const found = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return path;
  }
  return undefined;
}

// Arguments: working directory, then source, target, ro|rw of each mount, then --, then the command. The program is replaced
// at every step, so the process keeps the pid that it was spawned with. Descriptor 3 is closed before the command starts.
const script = (tools: NamespaceTools): string => `
directory=$1; shift
while [ "$1" != -- ]; do
  message=$(${tools.mount} --bind "$1" "$2" 2>&1) || { echo "$message" >&3; exit 125; }
  if [ "$3" = ro ]; then message=$(${tools.mount} -o remount,bind,ro "$2" 2>&1) || { echo "$message" >&3; exit 125; }; fi
  shift 3
done
shift
message=$(cd "$directory" 2>&1) || { echo "$message" >&3; exit 125; }
cd "$directory"
exec "$@" 3>&-`;

/** How to start a task: directly, or inside a private mount namespace when it has mounts. */
export function hostCommand(task: Task, tools: NamespaceTools | undefined): HostCommand {
  const [program, ...args] = task.command;
  const user = task.user;
  if (tools === undefined || (task.mounts ?? []).length === 0) {
    return { program, args, cwd: task.workingDirectory, ...(user === undefined ? {} : { user }), reportsOn3: false };
  }
  const mounts = (task.mounts ?? []).flatMap((mount) => [mount.source, mount.target, mount.readOnly ? "ro" : "rw"]);
  const asUser =
    user === undefined ? [] : [tools.setpriv, `--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups", "--"];
  const inside = [task.workingDirectory, ...mounts, "--", ...asUser, program, ...args];
  return {
    program: tools.unshare,
    args: ["--mount", "--propagation", "private", "--", tools.shell, "-c", script(tools), "slipway", ...inside],
    cwd: "/",
    reportsOn3: true,
  };
}

/**
 * Makes sure that every mount has something to be mounted on. Missing directories are made on the host, as empty ones, and
 * stay: removing one would take the mount away from every other task that uses it.
 */
export async function prepareMountPoints(mounts: readonly TaskMount[]): Promise<void> {
  for (const mount of mounts) {
    const directory = (await stat(mount.source)).isDirectory();
    const path = directory ? mount.target : dirname(mount.target);
    await ensureDirectory(path);
    if (!directory) await makeFile(mount.target);
  }
}

/** Node's own recursive mkdir never returns for a path that the kernel refuses to make, as under /proc. */
async function ensureDirectory(path: string): Promise<void> {
  const code = await mkdir(path).then(() => undefined, codeOf);
  if (code === undefined || code === "EEXIST") return;
  if (code === "ENOENT" && dirname(path) !== path && !(await exists(dirname(path))))
    await ensureDirectory(dirname(path));
  await mkdir(path);
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

async function makeFile(path: string): Promise<void> {
  const handle = await open(path, "a");
  await handle.close();
}
