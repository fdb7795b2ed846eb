// The programs that end-to-end tests drive: found on the machine, or installed from Debian's packages and from npm's registry.
//   node scripts/test-tools.mjs        installs what is missing, or says the one command that does
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ensureClientNode } from "./client-node.mjs";
import { ensureKubectlMinors } from "./kubectl-minors.mjs";
import { ensureNodeVersions } from "./node-versions.mjs";

const cache = fileURLToPath(new URL("../node_modules/.cache/test-tools", import.meta.url));

/** Debian's own kubectl, unpacked beside those the machine may have, so that all are tested. */
const debianKubectl = `${cache}/usr/bin/kubectl`;

const packages = [
  { program: "git", name: "git" },
  // Guides speak to REST services as people do.
  { program: "curl", name: "curl" },
  // Repositories that are cloned over SSH.
  { program: "sshd", name: "openssh-server" },
  { program: "unshare", name: "util-linux" },
  // Machines with networks of their own, which are cut.
  { program: "ip", name: "iproute2" },
  { program: "openssl", name: "openssl" },
  // The engine of the Docker runtime's tests, which start their own; its image is busybox.
  { program: "dockerd", name: "docker.io" },
  { program: "busybox", name: "busybox-static" },
  // The crash tests build a library that makes system calls fail. A compiler alone comes without the headers.
  { program: "cc", name: "gcc" },
  { file: "/usr/include/stdio.h", name: "libc6-dev" },
  // A gRPC client in another language, and a compiler of interfaces that is not ours, drive the server of agents.
  { program: "protoc", name: "protobuf-compiler" },
  { file: "/usr/include/google/protobuf/timestamp.proto", name: "libprotobuf-dev" },
  { file: "/usr/lib/python3/dist-packages/grpc/__init__.py", name: "python3-grpcio" },
  { file: "/usr/lib/python3/dist-packages/google/protobuf/__init__.py", name: "python3-protobuf" },
  // The browser that opens the web UI, and a font for it.
  { program: "chromium", name: "chromium" },
  { file: "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", name: "fonts-dejavu-core" },
  // Archives as people compress them, which servers of files unpack.
  { program: "xz", name: "xz-utils" },
  { program: "bzip2", name: "bzip2" },
  { program: "zstd", name: "zstd" },
  // A client of Kubernetes in another language, for streams into Pods.
  { file: "/usr/lib/python3/dist-packages/kubernetes/__init__.py", name: "python3-kubernetes" },
];

const isInstalled = (program) =>
  `${process.env.PATH ?? ""}:/usr/sbin`.split(":").some((folder) => existsSync(`${folder}/${program}`));
const isHere = ({ program, file }) => (file === undefined ? isInstalled(program) : existsSync(file));
const sh = (script) =>
  spawnSync("sh", ["-ec", script], { stdio: "inherit", env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } })
    .status === 0;

// A machine that has just begun installs something by itself, and another test run may: who comes second waits. For the lists' lock apt-get
// itself does not. Anything else that it fails with, no network for one, is told at once.
const patience = "-o DPkg::Lock::Timeout=300";
const patientUpdate = `(
  seconds=1
  until said=$(LC_ALL=C apt-get update -qq 2>&1); do
    case $said in *"Could not get lock"*) seconds=$((seconds * 2)) ;; *) seconds=128 ;; esac
    if [ $seconds -gt 64 ]; then printf '%s\\n' "$said" >&2; exit 1; fi
    sleep $seconds
  done
  if [ -n "$said" ]; then printf '%s\\n' "$said" >&2; fi
)`;

/** Installs what is missing when this is root on Debian; otherwise says what to run. Returns whether all is there. */
export function ensureTestTools() {
  const missing = packages.filter((tool) => !isHere(tool)).map((tool) => tool.name);
  const steps = [
    missing.length > 0 ? `apt-get ${patience} install -y --no-install-recommends ${missing.join(" ")}` : "",
    existsSync(debianKubectl)
      ? ""
      : `cd '${cache}' && apt-get download kubernetes-client && dpkg-deb -x kubernetes-client_*.deb . && rm kubernetes-client_*.deb`,
  ].filter(Boolean);
  if (steps.length === 0) return true;
  mkdirSync(cache, { recursive: true });
  const script = (update) => [update, ...steps].join(" && ");
  if (process.getuid?.() === 0 && isInstalled("apt-get") && sh(script(patientUpdate))) return true;
  process.stderr.write(
    `the tests need programs that are not here; run as root on Debian:\n  ${script("apt-get update -qq")}\n`,
  );
  return false;
}

/** As above, with the other minors of kubectl, Kubernetes' client for JavaScript, and the other versions of Node.js. */
export const ensureAllTestTools = () =>
  [ensureTestTools(), ensureKubectlMinors(), ensureClientNode(), ensureNodeVersions()].every(Boolean);

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = ensureAllTestTools() ? 0 : 1;
