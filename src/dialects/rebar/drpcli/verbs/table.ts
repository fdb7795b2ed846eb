import type { Flag } from "../arguments.ts";
import { type CollectionRow, collections } from "../collections.ts";
import type { Arity, Runs, Verb } from "../verb.ts";
import { blobRuns } from "./blobs.ts";
import { contentRuns } from "./contents.ts";
import { machineRuns } from "./machines.ts";
import { objectRuns } from "./objects.ts";
import { otherRuns } from "./others.ts";
import { partRuns } from "./parts.ts";
import { requesting } from "./requests.ts";

// The verbs, one a line, with two blanks between its columns: words, arguments, what it does, how many arguments and
// what is said otherwise, flags, request. {c} is a collection, {s} one of its objects, {a} its word for actions. Verbs
// without a request are functions.

const list = "limit offset slim params decode";

const ofObjects = `
{c} list  [filters...]  List all {c}  *  ${list}
{c} count  [filters...]  Count all {c}  *  ${list}
{c} indexes  -  Get indexes for {c}  0  -  GET indexes/{c}
{c} show  [id]  Show a single {s} by id  1  slim params decode etag wait
{c} exists  [id]  See if a {s} exists by id  1  etag wait
{c} etag  [id]  Get the etag for a {s} by id  1
{c} create  [json]  Create a new {s} with the passed-in JSON or string key  1
{c} update  [id] [json]  Unsafely update {s} by id with the passed-in JSON  2
{c} patch  [id] [jsonpatch]  Patch {s} by ID using the passed-in JSON Patch  2  -  PATCH {c}/$1 <$2
{c} destroy  [id]  Destroy {s} by id  1
{c} wait  [id] [field] [value] [timeout]  Wait for a field of a {s}  3-4 requires at least 3 arguments
{c} meta  [id]  Gets metadata for the {s}  1  -  GET meta/{c}/$1
{c} meta get  [id] [key]  Get a specific metadata item from {s}  2
{c} meta add  [id] key [key] val [val]  Atomically add [key]:[val] to the metadata on [{c}]:[id]  5 3
{c} meta set  [id] key [key] to [val]  Set metadata [key]:[val] on [{c}]:[id]  5 3
{c} meta remove  [id] key [key]  Remove the meta [key] from [{c}]:[id]  3 2
{c} {a}s  [id]  Display actions for this {s}  1  plugin  GET {c}/$1/{a}s
{c} {a}  [id] [action]  Display the action for this {s}  2  plugin  GET {c}/$1/{a}s/$2
{c} run{a}  [id] [command] [- | map | name value...]  Run action on object from plugin  2+ !pairs  plugin
`;

const ofParams = `
{c} params  [id] [json]  Gets/sets all parameters for the {s}  1-2 requires 1 or 2 arguments  aggregate decode params
{c} get  [id] param [key]  Get a parameter from the {s}  3 2  aggregate decode compose  GET {c}/$1/params/$3
{c} add  [id] param [key] to [json blob]  Add the {c} param *key* to *blob*  5
{c} set  [id] param [key] to [json blob]  Set the {c} param *key* to *blob*  5
{c} remove  [id] param [key]  Remove the param *key* from {c}  3 2
`;

const ofProfiles = `
{c} addprofile  [id] [profile]  Add profile to the {s}'s profile list  2  -  push Profiles
{c} removeprofile  [id] [profile]  Remove a profile from the {s}'s list  2  -  pull Profiles
`;

const ofTasks = `
{c} bootenv  [id] [bootenv]  Set the {s}'s bootenv  2  -  set BootEnv
{c} addtask  [id] [task]  Add task to the {s}'s task list  2  -  push Tasks
{c} removetask  [id] [task]  Remove a task from the {s}'s list  2  -  pull Tasks
`;

const some = "requires at least an id and one task";
const jobsArity = "1-2 !inspect jobs requires 1 or 2 arguments";
const tasksArity = "2-3 !inspect tasks requires 2 or 3 arguments";
const agentFlags = "oneshot exit-on-failure skip-power power state-dir context";

const ofMachines = `
{c} workflow  [id] [workflow]  Set the {s}'s workflow  2  -  set Workflow
{c} stage  [id] [stage]  Set the {s}'s stage  2  -  set Stage
{c} run  [id]  Mark the machine as runnable  1  -  set Runnable true
{c} pause  [id]  Mark the machine as NOT runnable  1  -  set Runnable false
{c} inserttask  [id] [task] [offset]  Insert a task at [offset] from the running one  2-3 expects 2 or 3 arguments
{c} tasks add  [id] [at [offset]] [task...]  Add tasks to the task list for [id]  2+ ${some}
{c} tasks del  [task...]  Remove tasks from the mutable part of the task list  2+ ${some}
{c} jobs create  [id]  Create a job for the current task on machine [id]  1
{c} jobs current  [id]  Get the current job on machine [id]  1
{c} jobs state  [id] to [state]  Set the current job on machine [id] to [state]  3 2
{c} inspect jobs  [id] [index]  Show the jobs of a machine, or the one at [index], newest first  ${jobsArity}  full
{c} inspect tasks  [id] [task] [index]  Show the jobs of a task on a machine, newest first  ${tasksArity}  full
{c} currentlog  [id]  Get the log for the most recent job run on the machine  1
{c} deletejobs  [id]  Delete all jobs associated with machine  1
{c} token  [id]  Fetch a machine Token  1  ttl  GET machines/$1/token
{c} processjobs  [id]  Process pending jobs of the machine until done  0-1 requires 1 argument  ${agentFlags}
`;

const ofBootEnvs = `
{c} uploadiso  [id]  Download the ISOs that the {s} needs, and upload them  1
`;

const ofJobs = `
{c} purge  -  Purge finished and failed jobs  0  -  DELETE jobs
{c} actions  [id]  Get the actions for this job  1  for-os  GET jobs/$1/actions
{c} log  [id] [- or string]  Gets the log, or appends to it  1-2 requires at least 1 argument
`;

const ofContents = `
{c} list  -  List the installed content bundles  0 does not support filtering  -  GET contents
{c} show  [id]  Show a single content layer referenced by [id]  1  -  GET contents/$1
{c} exists  [id]  See if content layer referenced by [id] exists  1
{c} create  [json]  Add a new content layer to the system  1  replace-writable
{c} update  [id] [json]  Replace a content layer in the system  2  replace-writable
{c} upload  [json]  Upload a content layer, replacing the earlier one  1 requires 1 arguments  replace-writable
{c} destroy  [id]  Remove the content layer [id] from the system  1 requires 1 arguments
{c} bundle  [file] [meta fields]  Bundle the current directory into [file]  1+ !Must provide a file
{c} unbundle  [file]  Expand the content bundle [file] into the current directory  1 !Must provide a file
{c} convert  [file]  Expand a bundle into read-write objects  1 !Must provide a file or stdin
`;

const ofBlobs = `
{c} list  [path]  List all {c}  0-1 : Expected 0 or 1 argument  recurse
{c} download  [item] to [dest]  Download the {c} named [item] to [dest]  1-3 requires 1 or 2 arguments
{c} show  [item] to [dest]  Download the {c} named [item] to [dest]  1-3 requires 1 or 2 arguments
{c} get  [item] to [dest]  Download the {c} named [item] to [dest]  1-3 requires 1 or 2 arguments
{c} exists  [item]  Checks to see if [item] {c} exists and prints its checksum  1 requires 1
{c} upload  [src] as [dest]  Upload the {c} [src] as [dest]  1-3 requires 1 or 2 arguments  explode
{c} destroy  [item]  Delete the {c} [item] on the DRP server  1
`;

const others = `
version  -  Digital Rebar Provision CLI Command Version  0
gohai  -  Get basic system information as a JSON blob  0
info get  -  Get info about DRP  0  -  GET info
info check  -  Fast API check that returns DRP Version  0
objects list  -  List all object types  0  -  GET objects
prefs list  -  List all preferences  0  -  GET prefs
prefs set  [- | map | name value...]  Set preferences  1+ !values
events post  [- | JSON or YAML Event]  Post an event  1  -  POST events <$1
events watch  [filter]  Watch events as they come, all or those of [filter]  0-1 requires 0 or 1 argument
users password  [id] [password]  Set the password for this id  2 needs 2 args
users token  [id] [ttl|scope|action|specific|roles value...]  Get a login token  1-11 needs at least 1 arg
templates upload  [file] as [id]  Upload the template file [file] as template [id]  3 : expected 3 argument
`;

const longComplaints: Readonly<Record<string, string>> = {
  "!pairs": "!runaction either takes three arguments or a multiple of two, not N",
  "!values": "!prefs set either takes a single argument or a multiple of two, not N",
};

const flag = (name: string, summary: string, value?: string, query?: string) =>
  [name, { name, summary, ...(value && { value }), ...(query && { query }) }] as const;

const flags: ReadonlyMap<string, Flag> = new Map<string, Flag>([
  flag("limit", "most items to return", "n", "limit"),
  flag("offset", "items to skip", "n", "offset"),
  flag("slim", "fields to leave out: Params, Meta or both", "fields", "slim"),
  flag("params", "params to return", "names", "params"),
  flag("decode", "open secure params", undefined, "decode"),
  flag("etag", "version that is known already (default: the present one)", "tag"),
  flag("wait", "how long to wait for another version, at most 10m", "time"),
  ["full", { name: "full", letter: "A", summary: "also the log and the rendered actions, in Meta" }],
  flag("aggregate", "also values that the object inherits", undefined, "aggregate"),
  flag("compose", "merge maps and lists of all sources", undefined, "compose"),
  flag("plugin", "plugin that offers the action", "name", "plugin"),
  flag("ttl", "how long it is valid (1h)", "time", "ttl"),
  flag("for-os", "system whose actions to return (default: all)", "name", "os"),
  flag("replace-writable", "replace identically named writable objects", undefined, "replaceWritable"),
  flag("recurse", "list all files of all folders", undefined, "all"),
  flag("explode", "unpack the archive beside it", undefined, "explode"),
  flag("oneshot", "do not wait for additional tasks"),
  flag("exit-on-failure", "exit on failure of a task"),
  flag("skip-power", "skip power actions, as without --power real"),
  flag("power", "real: reboot and power off this host when a task asks for it", "how"),
  flag("state-dir", "location to save the agent's state", "folder"),
  flag("context", "context whose jobs to run ($RS_CONTEXT)", "name"),
]);

function verbsOf(row: CollectionRow, table: string, runs: Runs): readonly Verb[] {
  const { name, single, action = "action" } = row;
  const text = table.replaceAll("{c}", name).replaceAll("{s}", single).replaceAll("{a}", action);
  return text
    .trim()
    .split("\n")
    .map((line) => {
      const [words = "", usage = "-", summary = "", count = "0", named = "-", request] = line.split(/ {2,}/);
      const run = request === undefined ? runs[words.slice(name === "" ? 0 : name.length + 1)] : requesting(request);
      if (run === undefined) throw new Error(`${words} does nothing`);
      return {
        words: words.split(" "),
        usage: usage === "-" ? "" : usage,
        summary,
        arity: arityOf(count),
        flags: named.split(" ").flatMap((one) => flags.get(one) ?? []),
        run: async (call) => await run(call, row),
      };
    });
}

function arityOf(text: string): Arity {
  const many = Number.POSITIVE_INFINITY;
  const [, from, to, isOpen, said = from] = /^(\d+)(?:-(\d+)|(\+))?(?: (.*))?$/.exec(text) ?? [];
  const [least, most] = [Number(from ?? 0), isOpen === undefined && from !== undefined ? Number(to ?? from) : many];
  if (said === undefined || !/^\d+$/.test(said))
    return { least, most, complaint: longComplaints[said ?? ""] ?? said ?? "" };
  return {
    least,
    most,
    complaint: said === "0" ? "accepts no arguments" : `requires ${said} argument${said === "1" ? "" : "s"}`,
  };
}

const contents: CollectionRow = { name: "contents", single: "content" };
const blobs: readonly CollectionRow[] = [
  { name: "files", single: "files" },
  { name: "isos", single: "isos" },
];

export const verbs: readonly Verb[] = [
  ...collections.flatMap((row) => [
    ...verbsOf(row, ofObjects, { ...objectRuns, ...partRuns }),
    ...(row.hasParams === true ? verbsOf(row, ofParams, partRuns) : []),
    ...(row.hasProfiles === true ? verbsOf(row, ofProfiles, {}) : []),
    ...(row.hasTasks === true ? verbsOf(row, ofTasks, {}) : []),
    ...(row.name === "machines" ? verbsOf(row, ofMachines, machineRuns) : []),
    ...(row.name === "bootenvs" ? verbsOf(row, ofBootEnvs, blobRuns) : []),
    ...(row.name === "jobs" ? verbsOf(row, ofJobs, machineRuns) : []),
  ]),
  ...verbsOf(contents, ofContents, contentRuns),
  ...blobs.flatMap((row) => verbsOf(row, ofBlobs, blobRuns)),
  ...verbsOf({ name: "", single: "" }, others, otherRuns),
];
