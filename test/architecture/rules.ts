/** What a part of the house may import besides itself. Longest matching prefix wins. */
export interface Rule {
  readonly folder: string;
  readonly mayImport: readonly string[];
  /** Importable only with `import type`. */
  readonly types?: readonly string[];
  /** Importable only with `import()`. */
  readonly dynamic?: readonly string[];
  readonly because: string;
}

const lib = ["src/lib/"];
const machineParts = [
  "src/kernel/specs",
  "src/kernel/kit",
  "src/kernel/streams",
  "src/kernel/artifacts",
  "src/kernel/couriers",
  "src/kernel/git",
  "src/kernel/runtimes",
  "src/kernel/template",
  "src/kernel/rpc",
  "src/kernel/websocket",
];

export const rules: readonly Rule[] = [
  { folder: "src/engine", mayImport: [], because: "the engine is pure and imports nothing" },
  { folder: "src/lib/base", mayImport: [], because: "the base knows nobody" },
  {
    folder: "src/lib/yaml",
    mayImport: ["src/lib/base"],
    because: "lib imports from left to right: base, yaml, json, text, schema, cel",
  },
  {
    folder: "src/lib/json",
    mayImport: ["src/lib/base", "src/lib/yaml"],
    because: "lib imports from left to right: base, yaml, json, text, schema, cel",
  },
  {
    folder: "src/lib/text",
    mayImport: ["src/lib/base", "src/lib/yaml", "src/lib/json"],
    because: "lib imports from left to right: base, yaml, json, text, schema, cel",
  },
  {
    folder: "src/lib/schema",
    mayImport: ["src/lib/base", "src/lib/yaml", "src/lib/json", "src/lib/text"],
    because: "lib imports from left to right: base, yaml, json, text, schema, cel",
  },
  { folder: "src/lib/cel", mayImport: lib, because: "lib knows nothing of workflows" },
  { folder: "src/lib/jsonschema", mayImport: lib, because: "lib knows nothing of workflows" },
  { folder: "src/kernel/model", mayImport: lib, because: "the model stands on lib alone" },
  {
    folder: "src/kernel/specs",
    mayImport: [...lib, "src/kernel/model"],
    because: "specs of Pods and Jobs are judged without a server",
  },
  {
    folder: "src/kernel/websocket",
    mayImport: lib,
    because: "channels carry bytes, whatever they mean",
  },
  {
    folder: "src/kernel/kit",
    mayImport: [...lib, "src/kernel/model", "src/kernel/websocket"],
    because: "the kit must work against any Kubernetes API",
  },
  { folder: "src/kernel/streams", mayImport: [...lib, "src/kernel/model"], because: "streams stand on lib and model" },
  {
    folder: "src/kernel/artifacts",
    mayImport: [...lib, "src/kernel/model"],
    because: "artifacts are files on the disk, whoever leaves and takes them",
  },
  {
    folder: "src/kernel/couriers",
    mayImport: lib,
    because: "a courier carries an effect, whoever wants it done",
  },
  {
    folder: "src/kernel/git",
    mayImport: [...lib, "src/kernel/model", "src/kernel/streams"],
    because: "Git is a program of the machine, whoever needs a repository",
  },
  {
    folder: "src/kernel/runtimes",
    mayImport: [...lib, "src/kernel/model", "src/kernel/streams"],
    because: "runtimes know streams, nothing else of the kernel",
  },
  {
    folder: "src/kernel/template",
    mayImport: [...lib, "src/kernel/model"],
    because: "the template host stands on lib and model",
  },
  { folder: "src/kernel/rpc", mayImport: [...lib, "src/kernel/model"], because: "rpc stands on lib and model" },
  {
    folder: "src/kernel/agents",
    mayImport: [...lib, "src/kernel/model", "src/kernel/kit"],
    because: "agents are programs somewhere else, whatever they run",
  },
  {
    folder: "src/kernel/apiserver",
    mayImport: [...lib, "src/engine", "src/kernel/model", "src/kernel/doors", ...machineParts],
    because: "the API server and the workloads do not know each other",
  },
  {
    folder: "src/kernel/workloads",
    mayImport: [...lib, "src/engine", "src/kernel/model", ...machineParts],
    because: "the API server and the workloads do not know each other",
  },
  {
    folder: "src/kernel/doors",
    mayImport: [...lib, "src/kernel/model", "src/kernel/rpc", "src/kernel/websocket"],
    because: "doors let callers in, whatever is behind them",
  },
  {
    folder: "src/kernel/command",
    mayImport: [...lib, "src/engine", "src/kernel/model", "src/kernel/kit", "src/kernel/template", "src/kernel/doors"],
    because: "what commands are made of knows no dialect",
  },
  {
    folder: "src/kernel/dialect",
    mayImport: [...lib, "src/engine", "src/kernel/model", "src/kernel/command", "src/kernel/doors", ...machineParts],
    because: "what all dialects share knows none of them",
  },
  {
    folder: "src/dialects",
    mayImport: [
      ...lib,
      "src/engine",
      "src/kernel/model",
      "src/kernel/dialect",
      "src/kernel/command",
      "src/kernel/doors",
      "src/kernel/agents",
      ...machineParts,
    ],
    because: "dialects know neither the API server nor the workloads",
  },
  {
    folder: "src/app/server",
    mayImport: [...lib, "src/engine", "src/kernel/", "src/dialects"],
    dynamic: ["src/app/ui/server"],
    types: ["src/app/ui/server"],
    because: "the server knows everything but the faces, and loads the web UI with its first request",
  },
  {
    folder: "src/app/runs",
    mayImport: [
      ...lib,
      "src/engine",
      "src/kernel/model",
      "src/kernel/kit",
      "src/kernel/dialect",
      "src/kernel/command",
      "src/dialects",
    ],
    because: "what all faces read of runs knows none of them",
  },
  {
    folder: "src/app/cli",
    mayImport: [
      ...lib,
      "src/engine",
      "src/kernel/model",
      "src/kernel/kit",
      "src/kernel/dialect",
      "src/kernel/command",
      "src/dialects",
      "src/app/runs",
    ],
    dynamic: ["src/app/server", "src/app/ui/server"],
    types: ["src/app/server"],
    because: "the command line starts the server only on demand",
  },
  {
    folder: "src/app/ui/server",
    mayImport: [
      ...lib,
      "src/engine",
      "src/kernel/model",
      "src/kernel/kit",
      "src/kernel/dialect",
      "src/app/runs",
      "src/app/ui/wire.ts",
      "src/app/ui/grid-steps.ts",
      "src/app/ui/run-phases.ts",
    ],
    types: ["src/kernel/apiserver"],
    because: "the server side of the UI works in front of any Kubernetes API",
  },
  {
    folder: "src/app/ui",
    mayImport: [...lib, "src/engine", "src/kernel/model"],
    types: ["src/"],
    because: "the UI runs in a browser",
  },
];

/** Folders that may import each other only through their index files. */
export const doors: readonly RegExp[] = [
  /^src\/engine$/,
  /^src\/lib\/[^/]+$/,
  /^src\/kernel\/[^/]+$/,
  /^src\/dialects(?:\/[^/]+)?$/,
  /^src\/app\/(?!ui$)[^/]+$/,
  /^src\/app\/ui\/server$/,
];

/** Packages that live behind one folder each. */
export const homes: Readonly<Record<string, string>> = {
  lmdb: "src/kernel/apiserver/store",
  commander: "src/app/cli",
  yaml: "src/lib/yaml",
  "js-yaml": "src/lib/yaml",
  re2js: "src/lib/text",
  "@marcbachmann/cel-js": "src/lib/cel",
  "@peculiar/x509": "src/kernel/doors",
  "reflect-metadata": "src/kernel/doors",
  "prom-client": "src/kernel/apiserver/http",
  pino: "src/app/server",
  picocolors: "src/kernel/command",
  "string-width": "src/kernel/command",
  "tar-stream": "src/kernel/artifacts",
  "@bomb.sh/tab": "src/app/cli",
  "@grpc/grpc-js": "src/kernel/rpc",
  "@bufbuild/protobuf": "src/kernel/rpc",
  ws: "src/kernel/websocket",
  hono: "src/dialects/wharf",
  "@hono/node-server": "src/dialects/wharf",
  "@fastify/busboy": "src/dialects/wharf",
  saxes: "src/dialects/wharf",
  nodemailer: "src/kernel/couriers",
  "jq-wasm": "src/dialects/rebar",
  ajv: "src/lib/jsonschema",
  tweetnacl: "src/dialects/rebar/secure",
  preact: "src/app/ui/page",
  "@preact/signals": "src/app/ui/page",
};

/** Development dependencies: the page has them inside when it is built. */
export const bundledIntoThePage: readonly string[] = ["preact", "@preact/signals"];

/** Globals that decide or wait behind the reader's back, and the places that are their home. */
export const bannedGlobals: readonly { readonly name: string; readonly homes: readonly string[] }[] = [
  { name: "Date.now", homes: ["src/lib/base/clock.ts"] },
  { name: "new Date()", homes: [] },
  { name: "Math.random", homes: ["src/lib/base/"] },
  { name: "setTimeout", homes: ["src/lib/base/clock.ts"] },
  { name: "setInterval", homes: ["src/lib/base/clock.ts"] },
  { name: "process.env", homes: ["src/kernel/command/environment.ts", "src/kernel/runtimes/process/runner/"] },
  { name: "process.exit", homes: ["src/app/cli/main.ts", "src/kernel/runtimes/process/runner/"] },
  { name: "console", homes: [] },
];
