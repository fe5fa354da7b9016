/** The weights of the ranker for work with tools, fitted to questions about coding sessions. `npm run train` writes this file. */
export const WORK_WEIGHTS = {
  withPrompt: 1,
  prompt: 0.219,
  around: 0.65,
  sessionBest: 0.37,
  tool: -0.57,
  answerLength: 0.039,
  shortAnswer: -0.329,
  shortPrompt: -1,
  similarity: 0.87,
};
