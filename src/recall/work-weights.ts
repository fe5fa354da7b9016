/** The weights of the ranker for work with tools, fitted to questions about coding sessions. `npm run train` writes this file. */
export const WORK_WEIGHTS = {
  withPrompt: 1,
  prompt: 0.396,
  around: 0.715,
  sessionBest: 0.498,
  tool: -0.49,
  answerLength: 0.063,
  shortAnswer: -0.337,
  shortPrompt: -1.017,
  similarity: 1.095,
};
