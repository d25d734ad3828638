"""After a yes: what may be reported of items that a judge labelled and people checked in part?"""
