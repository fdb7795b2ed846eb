import { constants } from "node:os";
import { readFileSync } from "node:fs";
import { getSystemErrorName } from "node:util";
import { deferred } from "#lib/base/index.ts";
import type { Task } from "../../contract.ts";
import { findProgram, type HostCommand } from "./host-command.ts";
import type { ReadingPipe } from "./pipe-pool.ts";

// Every task has a supervisor: the parent of the task's program, which outlives the runner and reports on a named pipe
// that the next runner reopens. It is Perl because a shell cannot tell a signal from an exit code above 128, changes
// the environment, and prints errors of its own.
//
//     0  one byte from the runner starts the program; its end stops the supervisor  3  reports of the preparation
//     1, 2  the task's output                                                     4  `+` or `!ERRNO`, then the wait status
//
// Command and environment arrive as prefixed variables, so that they mean nothing to perl or the dynamic linker and do
// not show on the command line. The supervisor leads the task's group and ignores signals; exec resets its handlers. It
// repeats a report until a runner reads it, the pipe's name is removed, or it is terminated.
const script = `# The supervisor of a Slipway task.
my @command = map $ENV{"A$_"}, 0 .. $ENV{N} - 1;
$^F = 3 if $ENV{R};
%ENV = map { /^E(.+)/s ? ($1 => $ENV{$_}) : () } keys %ENV;
$SIG{$_} = sub {} for grep !/^(KILL|STOP|CHLD|CLD|SEGV|BUS|ILL|FPE|__\\w+__)$/, keys %SIG;
open my $preparation, ">&=3";
open my $status, ">&=4" or exit 1;
sub report {
  my $pause = 0.05;
  until (defined syswrite $status, "@_\\n") {
    $SIG{TERM} = "DEFAULT";
    exit unless (stat $status)[3];
    select undef, undef, undef, $pause;
    $pause *= 2 if $pause < 0.5;
  }
}
sysread STDIN, my $word, 1 or exit;
pipe my $failure, my $failing;
my $pid = fork;
my $errno = defined $pid ? "" : $! + 0;
if (defined $pid and not $pid) {
  close $status;
  open STDIN, "<", "/dev/null";
  exec { $command[0] } @command;
  syswrite $failing, $! + 0;
  kill KILL => $$;
}
close $failing;
close $preparation;
sysread $failure, $errno, 9 if $pid;
report $errno ? "!$errno" : "+";
exit if $errno;
1 until waitpid($pid, 0) == $pid;
report $?;
`;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The supervisor program; without one a task is a child of the runner. */
export const findSupervisor = (): Promise<string | undefined> => findProgram("perl");

/** The command to spawn instead of the task's own. */
export function supervisedCommand(perl: string, { program, args, reportsOn3 }: HostCommand, env: Task["env"]) {
  const command = [program, ...args].map((word, at) => [`A${at}`, word] as const);
  const variables = Object.entries(env).map(([name, value]) => [`E${name}`, value] as const);
  const rest = [["N", `${command.length}`] as const, ...(reportsOn3 ? [["R", "1"] as const] : [])];
  return { program: perl, args: ["-e", script], env: Object.fromEntries([...command, ...variables, ...rest]) };
}

/** Values of these variables in the supervisor's task; undefined if they cannot be read. */
export function valuesIn(supervisor: number, names: readonly string[]): readonly string[] | undefined {
  if (names.length === 0) return [];
  try {
    const variables = readFileSync(`/proc/${supervisor}/environ`, "utf8").split("\0");
    const valuesOf = (prefix: string) =>
      variables.flatMap((one) => (one.startsWith(prefix) ? [one.slice(prefix.length)] : []));
    return names.flatMap((name) => valuesOf(`E${name}=`));
  } catch {
    return undefined; // It has ended, belongs to another user, or this is not Linux.
  }
}

export interface Reports {
  /** Resolves when the program runs, or with the reason why it could not be started. */
  readonly started: Promise<Error | undefined>;
  /** Without a report, the supervisor was killed with SIGKILL. */
  readonly exited: Promise<Exit>;
}

/** Reads the reports that were not read before. */
export function reportsOn({ output }: ReadingPipe): Reports {
  const started = deferred<Error | undefined>();
  const exited = deferred<Exit>();
  let text = "";
  output.on("data", (chunk: Buffer) => {
    const lines = (text + chunk.toString("latin1")).split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("!")) started.resolve(startFailure(Number(line.slice(1))));
      else if (/^\d+$/.test(line)) exited.resolve(exitOf(Number(line)));
      started.resolve(undefined);
    }
  });
  const end = () => {
    started.resolve(undefined);
    exited.resolve({ code: null, signal: "SIGKILL" });
  };
  output.once("end", end);
  output.once("error", end);
  return { started: started.promise, exited: exited.promise };
}

function startFailure(errno: number): Error {
  const code = getSystemErrorName(-errno);
  return Object.assign(new Error(`spawn ${code}`), { code });
}

/** From a wait status: the code in the high byte, or the signal in the low bits. */
function exitOf(status: number): Exit {
  const number = status & 127;
  if (number === 0) return { code: status >> 8, signal: null };
  const [signal] = Object.entries(constants.signals).find(([, one]) => one === number) ?? [];
  return signal === undefined ? { code: 128 + number, signal: null } : { code: null, signal: signal as NodeJS.Signals };
}
