import { join, resolve } from "node:path";
import { tmpdir } from "node:os";
import { silentLog, textAt } from "#lib/base/index.ts";
import { type Call, CliError, textFlag } from "../verb.ts";

/** The machine agent by its name in the original. It never reboots or powers off this host without `--power real`. */
export async function processJobs(call: Call): Promise<void> {
  const { openHostAgent } = await import("../../agent/open-agent.ts");
  const { connection, variable, environment } = await call.surroundings();
  const given = call.args[0] ?? variable("RS_UUID") ?? "";
  if (given === "") throw new CliError("processjobs requires a machine, or RS_UUID");
  const machine = textAt(await call.get(["machines", given]), "Uuid") ?? given;
  const stateDirectory = resolve(call.directory, textFlag(call, "state-dir") ?? stateIn(variable));
  const runnerDirectory = variable("RS_RUNNER_DIR");
  const error = await openHostAgent(
    {
      machine,
      context: textFlag(call, "context") ?? variable("RS_CONTEXT") ?? "",
      isOneShot: call.flags.has("oneshot"),
      exitsOnFailure: call.flags.has("exit-on-failure"),
      power: textFlag(call, "power") === "real" && !call.flags.has("skip-power") ? "real" : "off",
      connection,
      stateDirectory,
      ...(runnerDirectory === undefined ? {} : { runnerDirectory: resolve(call.directory, runnerDirectory) }),
      shims: [process.execPath, process.argv[1] ?? "slipway"],
    },
    {
      environment,
      clock: call.clock,
      log: silentLog,
      tell: (line) => call.write(`${line}\n`),
      echo: (bytes) => call.write(bytes),
    },
    call.signal,
  );
  if (error !== undefined) throw new CliError(error);
}

/** The original's is `/var/lib/drp-agent`, which only root may write to. */
const stateIn = (variable: (name: string) => string | undefined): string => {
  const data = variable("SLIPWAY_DATA_DIR");
  const home = variable("HOME");
  return data !== undefined ? join(data, "rebar-agent") : join(home ?? tmpdir(), ".slipway", "rebar-agent");
};
