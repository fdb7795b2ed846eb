export { gridSteps } from "./source-grid.ts";
export { createUi, type UiOptions } from "./ui.ts";
