export type { Diagnostic } from "./definition/diagnostics.ts";
export type { ReadDefinition } from "./world/read-definition.ts";

// The door of the dialect. Everything is loaded when it is asked for: the command line starts without it.

/** What `slipway wharf` does. Loaded when it is asked for. */
export async function loadWharf() {
  const [reading, vars, diagnostics] = await Promise.all([
    import("./world/read-definition.ts"),
    import("./vars.ts"),
    import("./definition/diagnostics.ts"),
  ]);
  return {
    readDefinition: reading.readDefinition,
    listText: vars.listText,
    listData: vars.listData,
    substituteText: vars.substituteText,
    substitutedDefinition: vars.substitutedDefinition,
    formatDiagnostic: diagnostics.formatDiagnostic,
    excerptOf: diagnostics.excerptOf,
  };
}
