export { actionWord } from "./action-words.ts";
export {
  command,
  type CommandSpec,
  type Completion,
  type EndSignal,
  type GlobalOptions,
  type Host,
  type Invocation,
  type OwnProcess,
  type Surroundings,
} from "./command.ts";
export {
  type ColorChoice,
  dataDirectoryOf,
  defaultDataDirectory,
  type Environment,
  type Output,
  readEnvironment,
} from "./environment.ts";
export { codeOfRun, Exit, exitCode, exitCodeOf, UsageError } from "./exit-codes.ts";
export { chosenVariables, hostEnvironment, passedOn } from "./host-environment.ts";
export { type ClusterFlags, clusterOptions, type ClusterWork } from "./cluster-options.ts";
export { OptionReader, type OptionSources, type SettingText } from "./option-reader.ts";
export { type OptionSpec, prefixedFlag, prefixedOption } from "./option-spec.ts";
export { printProblems } from "./print-problems.ts";
export { type ReadParams, readParams } from "./read-params.ts";
export { type Session, withSession } from "./session.ts";
