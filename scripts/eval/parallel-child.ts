/** The process that `inParallel` starts. Its argument is the module, and each message is an input of `run`. */
const { run } = (await import(process.argv[2]!)) as { run: (input: unknown) => unknown };
process.on("message", async (input) => {
  try {
    process.send!({ result: await run(input) });
  } catch (error) {
    process.send!({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});
