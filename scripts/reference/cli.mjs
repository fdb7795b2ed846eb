// The page of the command line, from the commands.
import { code, generatedFrom, table } from "./markdown.mjs";

const exits = {
  succeeded: "done; the run succeeded",
  failed: "the command or the run failed",
  usage: "wrong usage, or a document with errors",
  canceled: "the run was canceled",
  deadline: "the run's deadline has passed",
  corrupt: "`slipway up` and `slipway store`: the store is damaged, or another version wrote it",
};

/** Variables the program reads. The architecture tests look for all of them in the page. */
const variables = [
  [
    "SLIPWAY_DATA_DIR",
    "the data directory of `slipway up`, where other commands look for a running control plane; `~/.slipway` when unset",
  ],
  [
    "SLIPWAY_KUBECONFIG",
    "the control plane to use, like `--kubeconfig`. `KUBECONFIG` is ignored except for steps of builds in Pods, because it may name another cluster",
  ],
  [
    "SLIPWAY_TINK_LISTEN, SLIPWAY_TINK_POLL_HOLD, …",
    "each option of `slipway up` that begins with `--tink-`: `--tink-poll-hold` is `SLIPWAY_TINK_POLL_HOLD`; the option wins",
  ],
  ["SLIPWAY_WHARF_LISTEN, SLIPWAY_WHARF_NAMESPACE, …", "the same for options that begin with `--wharf-`"],
  [
    "WHARF_CONFIG",
    "a file with settings of builds, read after those of the machine, the user and the working directory",
  ],
  [
    "WHARF_INSTANCEID, WHARF_WORKER_RUNTIME, …",
    "settings of builds: `WHARF_` and the path of a setting, `worker.docker.builder` is `WHARF_WORKER_DOCKER_BUILDER`; options win",
  ],
  [
    "SLIPWAY_AGENT_ID, SLIPWAY_AGENT_SERVER, …",
    "each option of `slipway agent`: `SLIPWAY_AGENT_` and its name, `--tls-ca` is `SLIPWAY_AGENT_TLS_CA`; the option wins",
  ],
  [
    "AGENT_ID, AGENT_GRPC_SERVER, AGENT_GRPC_TLS, AGENT_GRPC_INSECURE_TLS, WORKER_ID, ID, TINKERBELL_GRPC_AUTHORITY, TINKERBELL_TLS, TINKERBELL_INSECURE_TLS, DOCKER_REGISTRY, REGISTRY_USERNAME, REGISTRY_PASSWORD",
    "the variables of released Tinkerbell agents; `slipway agent` reads them after its own",
  ],
  ["DISPLAY, WAYLAND_DISPLAY", "whether `slipway ui` may open a browser on Linux; without both it prints a link"],
  ["NO_COLOR", "no colours, whatever its value; `--color` wins"],
  ["FORCE_COLOR", "colours also if the output is not a terminal; `0` disables colours"],
  ["TERM", "`dumb`: no live view and no colours"],
  ["LC_ALL, LC_CTYPE, LANG", "the first that is set decides: UTF-8, or only ASCII is drawn"],
  [
    "NODE_COMPILE_CACHE, XDG_CACHE_HOME",
    "the directory for compiled commands, in `slipway-code`; the first that is set, else `~/.cache`",
  ],
  ["XDG_RUNTIME_DIR", "its folder `slipway` contains notes of this user's servers; `$TMPDIR/slipway-UID` when unset"],
];

const optionRow = ({ flags, summary, choices, initial }) => {
  const isSaid = choices === undefined || choices.every((choice) => summary.includes(choice));
  const meaning = isSaid ? summary : `${summary}: ${choices.map(code).join(", ")}`;
  return [code(flags), meaning, initial === undefined ? "" : code(String(initial))];
};

/** The options of the program itself, as option specs. */
const ownOptions = (program) => [
  ...program.options.map(({ flags, description, argChoices, defaultValue }) => ({
    flags,
    summary: description,
    ...(argChoices === undefined ? {} : { choices: argChoices }),
    ...(defaultValue === undefined || defaultValue === 0 ? {} : { initial: defaultValue }),
  })),
  { flags: "-h, --help", summary: "examples, arguments and options of a command" },
];

/** Options without a heading first, then those of each heading. */
function optionTables(options) {
  const headings = [...new Set(options.map(({ heading }) => heading))];
  return headings.flatMap((heading) => [
    ...(heading === undefined ? [] : [heading]),
    ...table(["Option", "Meaning", "Default"], options.filter((option) => option.heading === heading).map(optionRow)),
  ]);
}

function commandSection({ name, args, shown = args, summary, examples, options }) {
  return [
    "",
    `### slipway ${name}`,
    "",
    `${summary}.`,
    "",
    "```",
    `slipway ${[name, ...(options.length > 0 ? ["[options]"] : []), ...shown].join(" ")}`,
    "```",
    ...(options.length > 0 ? optionTables(options) : [""]),
    "Examples:",
    "",
    "```",
    ...examples,
    "```",
  ];
}

export function cliPage({ commands, buildProgram, exitCode }) {
  const shown = commands.filter(({ hidden }) => hidden !== true);
  const program = buildProgram(commands, "0.0.0", {}, {});
  const groups = [...new Set(shown.map(({ group }) => group))];
  return [
    generatedFrom("src/app/cli/commands"),
    "# Command line",
    "",
    "Data go to stdout, everything else to stderr. Tables never wrap; live progress and colours appear on a terminal only.",
    "",
    "A run is named `NAME`, `workflow/NAME` or `workflow NAME`. A file may also be a folder, whose `.yaml`, `.yml` and `.json` files",
    "are read, or `-` for standard input.",
    "",
    "## Options of every command",
    ...table(["Option", "Meaning", "Default"], ownOptions(program).map(optionRow)),
    "## Exit codes",
    ...table(
      ["Code", "Meaning"],
      [
        ...Object.entries(exitCode).map(([name, value]) => [String(value), exits[name]]),
        ["5", "`slipway up`: the disk failed; restart the server"],
        [
          "129, 130, 143",
          "ended by SIGHUP, SIGINT, SIGTERM; the first signal cancels the run, whose final steps still run; the second ends the command at once. Servers (`up`, `agent`, `controllers`) exit with 0",
        ],
      ],
    ),
    "## Environment variables",
    ...table(
      ["Variable", "Meaning"],
      variables.map(([names, meaning]) => [names.split(", ").map(code).join(", "), meaning]),
    ),
    "An empty value counts as unset. Steps get `PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL`, `LANG`, `LC_ALL`, `LC_CTYPE`, `TZ`,",
    "`TMPDIR`, `DOCKER_HOST`, `DOCKER_TLS_VERIFY` and `DOCKER_CERT_PATH` of the control plane, the variables of their document, and `SLIPWAY_OUTPUT`: the file whose content becomes their outputs.",
    ...groups.flatMap((group) => [
      "",
      `## ${group}`,
      ...shown.filter((spec) => spec.group === group).flatMap(commandSection),
    ]),
    "",
  ].join("\n");
}
