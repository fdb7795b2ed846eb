/** `bundle` of build.mjs. Without the packages that it needs, this ends the process with what to do. */
export const { bundle } = await import("./build.mjs").catch((thrown) => {
  if (thrown.code !== "ERR_MODULE_NOT_FOUND") throw thrown;
  process.stderr.write("slipway: its dependencies are not installed; run: npm ci\n");
  process.exit(1);
});
