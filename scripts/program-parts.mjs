// What the parts of the command line begin with: the names of our modules and packages, apart from how parts are made of them (parts.mjs).
/** The command line, as bin/slipway.cjs starts it. */
export const cli = "src/app/cli/main.ts";

/**
 * Its parts, by what each begins with: what every command needs; builds; documents, what commands do with them and with a server; the control
 * plane; the rest. Whatever else a command uses is in the rest, which is large: test/e2e/cold-start.test.ts tells which command loads what.
 */
export const parts = {
  cli: [cli],
  builds: [
    "src/app/cli/documents.ts",
    "src/app/cli/output/problems.ts",
    "src/app/cli/wharf-run.ts",
    "src/dialects/wharf/configuration/build-counter.ts",
    "src/dialects/wharf/configuration/find-configuration.ts",
    "src/dialects/wharf/index.ts",
    "src/dialects/wharf/secrets/directory-place.ts",
    "src/dialects/wharf/secrets/server-place.ts",
    "src/dialects/wharf/vars.ts",
    "src/dialects/wharf/worker/choose-runtime.ts",
    "src/dialects/wharf/worker/former-build.ts",
    "src/dialects/wharf/worker/start-build.ts",
    "src/dialects/wharf/worker/step-workspace.ts",
    "src/dialects/wharf/world/given-inputs.ts",
    "src/dialects/wharf/world/read-definition.ts",
    "src/lib/base/index.node.ts",
    "node_modules/picocolors/picocolors.js",
    "node_modules/yaml/dist/index.js",
  ],
  documents: [
    "src/app/cli/",
    "src/dialects/shared.ts",
    "src/dialects/tinkerbell/index.ts",
    "src/dialects/workflow/index.ts",
    "node_modules/@marcbachmann/cel-js/lib/index.js",
    "node_modules/js-yaml/dist/js-yaml.cjs.js",
  ],
  server: [
    "src/app/server/index.ts",
    "src/dialects/run-action-upkeep.ts",
    "src/dialects/tinkerbell/add-controllers.ts",
    "src/dialects/wharf/add-controllers.ts",
    "src/dialects/wharf/api/removed-builds.ts",
    "src/dialects/workflow/controller.ts",
  ],
  rest: [],
};
